"""The verb `serve`: one replica over a store, until it is told to stop.

Responsible for turning the configuration into a replica's options, and for SIGTERM and Ctrl-C, which drain it. Refuses
to know what a replica does. Invariant: who started it reads one line on stdout when it serves, and a sentence that
helps when it cannot.
"""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import grpc
import typer
from grpc_health.v1 import health_pb2, health_pb2_grpc  # type: ignore[import-untyped]

from coordinator import logs
from coordinator.app import reached_at, replica_name, running
from coordinator.cli import output
from coordinator.cli.dialing import credentials_of, open_channel, unreached_since
from coordinator.cli.exits import Exit, Failure, failure
from coordinator.cli.finding import check_said
from coordinator.cli.here import Here, default_store
from coordinator.cli.verb import COMMON, verb
from coordinator.config import Config, ServeConfig
from coordinator.runtime.api import Coordinator
from coordinator.runtime.limits import Limits
from coordinator.runtime.options import Options
from coordinator.server.certificates import CertificateFiles, Certificates
from coordinator.server.interfaces import CannotListen, check_bind
from coordinator.server.metrics.page import PageOptions
from coordinator.server.options import ServerOptions
from coordinator.wire.bounds import Bounds
from coordinator.wire.lessons import read_lessons
from state_backend.address import file_address

_FILE = "coordinator.db"
_PROBE_S = 1.0
_NOWHERE = (
    "it listens on all of this machine's addresses, and which of them drivers reach nobody knows: "
    "other replicas tell drivers of it only when serve.advertise names one"
)
_SHA256 = re.compile("[0-9a-f]{64}")

log = logs.logger(__name__)


def serve(
    here: Here,
    listen: Annotated[str | None, typer.Option("--listen", metavar="ADDR", help="host:port; port 0: any free.")] = None,
    port: Annotated[int | None, typer.Option("--port", min=0, max=65_535, help="The port alone, on 127.0.0.1.")] = None,
    pages_port: Annotated[
        int | None,
        typer.Option("--pages-port", min=0, max=65_535, help="Also serve pictures of applications, on 127.0.0.1."),
    ] = None,
    data: Annotated[str | None, typer.Option("--data", metavar="DIR", help="Folder of the SQLite store.")] = None,
    metrics: Annotated[
        str | None, typer.Option("--metrics", metavar="ADDR", help="host:port where Prometheus reads /metrics.")
    ] = None,
    history: Annotated[
        str | None, typer.Option("--history", metavar="FILE", help="What `shufflectl learn` wrote, for `history`.")
    ] = None,
    beyond: Annotated[
        bool, typer.Option("--beyond-loopback", help="Let other machines reach it without certificates.")
    ] = False,
) -> Any:
    """Runs a coordinator. SIGTERM or Ctrl-C drains it."""
    if listen is not None and port is not None:
        raise failure(Exit.USAGE, "--listen and --port are both given", "one of them", "Leave one out.")
    if data is not None and here.is_flag("store"):
        raise failure(Exit.USAGE, "--store and --data are both given", "one of them", "Leave one out.")
    check_said({"--data": data})
    chosen = {
        "listen": listen if port is None else f"127.0.0.1:{port}",
        "pages": None if pages_port is None else f"127.0.0.1:{pages_port}",
        "data": data,
        "metrics": metrics,
        "history": history,
        "beyond_loopback": beyond or None,
    }
    serve = here.config.serve.model_copy(update={k: v for k, v in chosen.items() if v is not None})
    store = here.config.store if data is None else ""  # the flag hides what the environment or a file names
    return _serve(here.config.model_copy(update={"serve": serve, "store": store}), here.form)


async def _serve(config: Config, form: str) -> None:
    stop = _stop_signal()
    store = store_of(config)
    try:
        options, page = options_of(config), page_options(config)
        async with running(store, server_options(config), options, config.archive, page) as server:
            async with _pages(config, server.coordinator) as pages:
                _say(form, server.address, _masked(store), server.metrics_address, pages)
                log.info("serving", address=server.address, store=_masked(store))
                if not (options.address or reached_at(server.address)):
                    log.warning(_NOWHERE, address=server.address)
                await stop.wait()
            log.info("draining")
    except CannotListen as error:
        raise await _explained(config, error) from error


def _say(form: str, address: str, store: str, metrics: str, pages: str) -> None:
    """That it serves, and where. For programs one line: a pipe that never ends is read by lines."""
    if form != "table":
        told = {"address": address, "store": store, "metrics": metrics or None, "pages": pages or None}
        output.piece(form, told)
        return
    output.say(f"Serving at {address} over {store}; Ctrl-C or SIGTERM stops it.")
    if metrics:
        output.say(f"Metrics at {metrics}/metrics.")
    if pages:
        output.say(f"Pages at {pages}.")


@asynccontextmanager
async def _pages(config: Config, coordinator: Coordinator) -> AsyncIterator[str]:
    """Serves the pages too, where they are wished; gives their address. The rule is that of the replica's own port."""
    bind = config.serve.pages
    if not bind:
        yield ""
        return
    certificates = _certificates(config.serve)
    check_bind(bind, certificates, config.serve.beyond_loopback)
    from coordinator.pages.http import serving

    async with serving(coordinator, bind, certificates.context() if certificates is not None else None) as address:
        yield address


def _stop_signal() -> asyncio.Event:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


async def _explained(config: Config, error: CannotListen) -> Failure:
    """Says which port it is, and what is there where that can be known."""
    if error.bind == config.serve.pages:
        return Failure(Exit.FAILED, f"{error} Here: --pages-port 0, or serve.pages in the configuration.")
    if error.bind == config.serve.metrics:
        return Failure(Exit.FAILED, f"{error} Here: --metrics, or serve.metrics in the configuration.")
    listen = config.serve.listen
    if await serves(listen, config):
        return failure(
            Exit.FAILED,
            f"a coordinator serves at {listen} already",
            "a port that is free",
            f"Ask that one with --server {listen}, or serve elsewhere with --port 0.",
        )
    return Failure(Exit.FAILED, f"{error} Here: --port 0, or serve.listen in the configuration.")


async def serves(address: str, config: Config) -> bool:
    """Whether a coordinator is healthy there."""
    return not await trouble(address, config)


async def trouble(address: str, config: Config) -> str:
    """Why no healthy coordinator is there; empty: one is."""
    credentials = credentials_of(config)
    async with open_channel(address, credentials) as channel:
        try:
            stub = health_pb2_grpc.HealthStub(channel)
            asked = health_pb2.HealthCheckRequest(service="shuffle_lifecycle.v1.ShuffleLifecycle")
            reply = await stub.Check(asked, timeout=_PROBE_S)
        except grpc.aio.AioRpcError as error:
            return unreached_since(error, credentials)
        return "" if reply.status == health_pb2.HealthCheckResponse.SERVING else "it takes nobody in now"


# ---- options ---------------------------------------------------------------------------------------------------------


def store_of(config: Config) -> str:
    """The store that is named; else a file in the data folder; else the file that drivers share."""
    if config.store:
        return config.store
    if not config.serve.data:
        return default_store()
    folder = Path(config.serve.data).absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        told = f"the data folder {folder} cannot be made ({error.strerror})"
        raise failure(Exit.USAGE, told, "a folder that can be written", "Choose another.") from error
    return file_address(folder / _FILE)


def options_of(config: Config) -> Options:
    """How the replica works."""
    serve = config.serve
    if serve.retention_s and not config.archive:
        told = f"serve.retention_s is {serve.retention_s:g} and no archive is named"
        raise failure(Exit.USAGE, told, "an archive, which ended applications move to", "Name one with `archive`.")
    return Options(
        replica=replica_name(),
        address=serve.advertise,
        answer_within_s=serve.answer_within_s,
        snapshot_every_events=serve.snapshot_every_events,
        heartbeat_s=serve.heartbeat_s,
        silence_s=serve.silence_s,
        reap=serve.reap,
        lease_s=serve.lease_s,
        idle_s=serve.idle_s,
        archive_every_s=serve.archive_every_s,
        retention_s=serve.retention_s,
        limits=limits_of(config),
    )


def limits_of(config: Config) -> Limits:
    """What may grow, and how far."""
    return Limits(**config.limits.model_dump())


def server_options(config: Config) -> ServerOptions:
    """How it listens."""
    serve, limits = config.serve, limits_of(config)
    return ServerOptions(
        bind=serve.listen,
        bind_beyond_loopback=serve.beyond_loopback,
        certificates=_certificates(serve),
        administrators=_hashes("serve.administrators", serve.administrators),
        lessons=read_lessons(Path(serve.history)) if serve.history else {},
        registration_tokens=_hashes("serve.registration_tokens", serve.registration_tokens),
        heartbeat_ms=int(serve.heartbeat_s * 1_000),
        drain_s=serve.drain_s,
        message_bytes_max=limits.message_bytes,
        batch_max=limits.batch,
        unconfirmed_max=limits.unconfirmed,
        bounds=Bounds(limits.text_bytes, limits.payload_bytes, limits.items),
        calls_max=limits.calls,
        tails_max=limits.tails,
        requests_per_s=limits.requests_per_s,
        registrations_per_s=limits.registrations_per_s,
    )


def page_options(config: Config) -> PageOptions | None:
    """Where Prometheus reads; None: nowhere."""
    serve = config.serve
    if not serve.metrics:
        return None
    return PageOptions(serve.metrics, serve.beyond_loopback, _certificates(serve), serve.metrics_applications)


def _certificates(serve: ServeConfig) -> Certificates | None:
    named = (serve.tls_certificate, serve.tls_key)
    if not all(named):
        if any(named) or serve.tls_client_ca:
            told = "of tls_certificate, tls_key and tls_client_ca not all that is needed is given"
            expected = "tls_certificate and tls_key, and tls_client_ca where clients shall show a certificate"
            raise failure(Exit.USAGE, told, expected, "Name them in [serve], or none of them.")
        return None
    client_ca = Path(serve.tls_client_ca) if serve.tls_client_ca else None
    return Certificates(CertificateFiles(Path(serve.tls_certificate), Path(serve.tls_key), client_ca))


def _hashes(key: str, told: str) -> tuple[str, ...]:
    found = tuple(one.strip().lower() for one in told.split(",") if one.strip())
    for one in found:
        if not _SHA256.fullmatch(one):
            said = f"{key} names something of {len(one)} characters"
            raise failure(Exit.USAGE, said, "SHA-256 of tokens, 64 hexadecimal digits", "`shufflectl token` makes one.")
    return found


def _masked(store: str) -> str:
    """Without who we are to etcd. The name of a file may hold an @ too."""
    scheme, slashes, rest = store.partition("//")
    return store if store.startswith("sqlite:") else f"{scheme}{slashes}{rest.rpartition('@')[2]}"


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    verb(app, options=("store", "archive", "output", *COMMON))(serve)
