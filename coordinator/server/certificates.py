"""The server's certificates, as the files say now.

Responsible for the server's certificate and key, for the authority that signs its clients' certificates, and for taking
renewed files into use without a restart. Refuses to know addresses, tokens and who may do what. Invariant: a handshake
uses a certificate with its own key, all read at one moment, and shows the client's anew; files that do not fit together
change nothing.

gRPC asks before each handshake, and so does `ssl` in its callback for server names. The files' stamps are taken before
they are read: a renewal that is half done is either refused as a whole, or seen again at the next handshake.
Connections that are open keep what they were opened with.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc

from coordinator import logs
from coordinator.explained import Explained

log = logs.logger(__name__)

Stamps = tuple[tuple[int, int, int, int], ...]


class WrongCertificates(Explained, ValueError):  # noqa: N818 - it says what is so
    """The files cannot be used."""


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """PEM files. ``client_ca``: clients must show a certificate that it has signed; None: they need none."""

    certificate: Path
    key: Path
    client_ca: Path | None = None

    @property
    def all(self) -> tuple[Path, ...]:
        return (self.certificate, self.key, *((self.client_ca,) if self.client_ca is not None else ()))


class Certificates:
    """The files in use. Raises `WrongCertificates` where they cannot be used at the start."""

    def __init__(self, files: CertificateFiles) -> None:
        self.files = files
        self.asks_clients = files.client_ca is not None  #: Who shows no certificate is not let in.
        self._stamps = _stamps(files)
        self._initial = _read(files)

    def credentials(self) -> grpc.ServerCredentials:
        """What a port listens with."""
        fetcher: Any = self.renewed  # may give None, which the stubs do not know
        return grpc.dynamic_ssl_server_credentials(self._initial, fetcher, self.asks_clients)

    def context(self) -> ssl.SSLContext:
        """What a port listens with that is not gRPC's. Raises `WrongCertificates`."""
        return _Handshakes(self.files).context

    def renewed(self) -> grpc.ServerCertificateConfiguration | None:
        """The files, where they have changed and fit together; None: go on with what is in use."""
        try:
            stamps = _stamps(self.files)
            if stamps == self._stamps:
                return None
            self._stamps = stamps
            read = _read(self.files)
        except WrongCertificates as error:
            log.error("certificates not renewed", error=str(error))
            return None
        log.info("certificates renewed", certificate=str(self.files.certificate))
        return read


class _Handshakes:
    """A context whose handshakes go on in that of the files as they are by then."""

    def __init__(self, files: CertificateFiles) -> None:
        self._files = files
        self._stamps = _stamps(files)
        _read(files)
        self.context = self._present = _context(files)
        self.context.sni_callback = self._renew

    def _renew(self, connection: ssl.SSLSocket | ssl.SSLObject, *_: object) -> None:
        try:
            stamps = _stamps(self._files)
            if stamps != self._stamps:
                self._stamps = stamps
                _read(self._files)
                self._present = _context(self._files)
                log.info("certificates renewed", certificate=str(self._files.certificate))
        except WrongCertificates as error:
            log.error("certificates not renewed", error=str(error))
        connection.context = self._present


def _stamps(files: CertificateFiles) -> Stamps:
    try:
        stats = [path.stat() for path in files.all]
    except OSError as error:
        raise _unreadable(error) from error
    return tuple((stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino) for stat in stats)


def _read(files: CertificateFiles) -> grpc.ServerCertificateConfiguration:
    """The content, once Python's own TLS finds nothing wrong with it. Rights count as the files' stamps too (ctime)."""
    try:
        pair = (files.key.read_bytes(), files.certificate.read_bytes())
        roots = files.client_ca.read_bytes() if files.client_ca is not None else None
        _context(files)
    except ssl.SSLError as error:
        told = ", ".join(map(str, files.all))
        raise WrongCertificates(
            f"{told} cannot be used ({error.reason or error})",
            "a certificate with its own key, and the authority of the clients, all in PEM",
            "Check that certificate and key belong together, and that the key has no password.",
        ) from error
    except OSError as error:
        raise _unreadable(error) from error
    return grpc.ssl_server_certificate_configuration([pair], roots)


def _context(files: CertificateFiles) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_TICKET  # a session that is taken up again is not verified again
    context.num_tickets = 0
    context.load_cert_chain(files.certificate, files.key, password=_no_password)
    if files.client_ca is not None:
        context.load_verify_locations(files.client_ca)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _no_password() -> str:
    """A key with a password is an error here, and no question on a terminal."""
    return ""


def _unreadable(error: OSError) -> WrongCertificates:
    return WrongCertificates(f"{error.filename} cannot be read ({error.strerror})", "a PEM file", "Check its rights.")
