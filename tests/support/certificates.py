"""Certificates for tests, signed by an authority of their own.

Responsible for files that a server and its clients can be started with. Refuses to know who uses them.
Invariant: what one authority has signed, another one's clients do not trust.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tests.support.etcd import Tls


class Authority:
    """Signs certificates for 127.0.0.1, and leaves them as files."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority of a test")])
        self.ca = folder / "ca.pem"
        self.ca.write_bytes(_pem(self._sign(self._name, self._key.public_key(), authority=True)))

    def issue(self, name: str, host: str = "127.0.0.1", old: bool = False) -> Tls:
        """``old``: it has run out."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        cert_file, key_file = self._folder / f"{name}.pem", self._folder / f"{name}-key.pem"
        cert_file.write_bytes(_pem(self._sign(subject, key.public_key(), authority=False, host=host, old=old)))
        key_file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return Tls(self.ca, cert_file, key_file)

    def _sign(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePublicKey,
        *,
        authority: bool,
        host: str = "127.0.0.1",
        old: bool = False,
    ) -> x509.Certificate:
        now = dt.datetime.now(dt.timezone.utc) - dt.timedelta(days=3 if old else 0)
        usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        address = x509.IPAddress(ipaddress.IPv4Address(host))
        builder = x509.CertificateBuilder(self._name, subject, key, x509.random_serial_number())
        builder = builder.not_valid_before(now - dt.timedelta(days=1))
        builder = builder.not_valid_after(now + dt.timedelta(days=1))
        builder = builder.add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        builder = builder.add_extension(x509.SubjectAlternativeName([address]), critical=False)
        if not authority:
            builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        return builder.sign(self._key, hashes.SHA256())


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
