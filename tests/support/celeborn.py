"""A real Celeborn for tests: a master and workers as processes, from a distribution or a built tree.

Responsible for finding the jars under `CELEBORN_HOME`, for starting, killing and ending processes, and for what lies
on the workers' disks. Refuses to build or fetch anything. Invariant: it runs in a network of its own (`alone`), as
workers bind to all interfaces, and ends only what it started.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from tests.support.alone import be_alone
from tests.support.servers import Server, files_below, newest
from tests.support.spark import wait_for

MASTER, MASTER_HTTP = 9097, 9098
GRACEFUL = 9_300  #: The first port of a worker that keeps its ports: one of each cluster, at most.
READY_S = 120.0
_OPENS = (
    "java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util",
    "java.util.concurrent", "java.util.concurrent.atomic",
)  # fmt: skip
_OPENS_INSIDE = ("jdk.internal.misc", "sun.nio.ch", "sun.nio.cs", "sun.security.action", "sun.util.calendar")


@dataclass(frozen=True)
class Home:
    """A directory with a built or unpacked distribution."""

    path: Path

    def jars(self, module: str) -> str:
        """The class path of a server."""
        if (self.path / f"{module}-jars").is_dir():
            return f"{self.path}/jars/*:{self.path}/{module}-jars/*"
        built = newest(self.path / module / "target", f"celeborn-{module}_2.12-*.jar")
        return f"{built}:{self.path}/{module}/target/scala-2.12/jars/*"

    def client(self, spark: tuple[int, int]) -> Path:
        """The stock client for this Spark, or the one that `CELEBORN_CLIENT` names."""
        if "CELEBORN_CLIENT" in os.environ:
            return Path(os.environ["CELEBORN_CLIENT"])
        name, scala = f"spark-{spark[0]}", "2.12" if spark[0] == 3 else "2.13"
        pattern = f"celeborn-client-{name}-shaded_{scala}-*.jar"
        if (self.path / "spark").is_dir():
            return newest(self.path / "spark", pattern)
        return newest(self.path / "client-spark" / f"{name}-shaded" / "target", pattern)


@dataclass
class Celeborn:
    """A running cluster."""

    home: Home
    folder: Path
    servers: list[Server] = field(default_factory=list)

    @property
    def workers(self) -> list[Server]:
        return self.servers[1:]

    def conf(self, spark: tuple[int, int]) -> dict[str, str]:
        """What a session of Spark needs to use it."""
        client = str(self.home.client(spark))
        rerun = "spark.fetch.throwsFetchFailure" if "-0.5" in client else "spark.stageRerun.enabled"
        return {
            "spark.driver.extraClassPath": client,
            "spark.executor.extraClassPath": client,
            "spark.shuffle.manager": "org.apache.spark.shuffle.celeborn.SparkShuffleManager",
            "spark.shuffle.service.enabled": "false",
            "spark.celeborn.master.endpoints": f"127.0.0.1:{MASTER}",
            f"spark.celeborn.client.{rerun}": "true",
            "spark.celeborn.data.io.retryWait": "100ms",
            "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
            "spark.sql.adaptive.localShuffleReader.enabled": "false",
            "spark.executorEnv.CELEBORN_LOCAL_HOSTNAME": "127.0.0.1",
        }

    def files(self) -> dict[Path, int]:
        """What lies on the workers' disks, of all ids of all applications: path by size."""
        data = (self.folder / f"worker-{worker}" / "data" for worker in range(len(self.workers)))
        found = {path: size for folder in data for path, size in files_below(folder).items()}
        return {path: size for path, size in found.items() if path.parent.name.isdigit()}

    def files_on(self, worker: Server, application: str, ids: Sequence[int]) -> list[Path]:
        """Those of these ids on one worker."""
        folder = self.folder / f"worker-{self.workers.index(worker)}"
        mine = (path for path in self.files() if path.is_relative_to(folder) and application in path.parent.parent.name)
        return [path for path in mine if int(path.parent.name) in ids]

    def bytes_of(self, application: str, ids: Sequence[int]) -> int:
        """What the workers hold of these of Celeborn's ids: they lay files out by application and id."""
        ours = {path: size for path, size in self.files().items() if application in path.parent.parent.name}
        return sum(size for path, size in ours.items() if int(path.parent.name) in ids)


@contextmanager
def running_celeborn(folder: Path, workers: int = 2) -> Iterator[Celeborn]:
    """A cluster of its own, ready; it ends with the block."""
    be_alone()
    os.environ["CELEBORN_LOCAL_HOSTNAME"] = "127.0.0.1"
    cluster = Celeborn(Home(Path(os.environ["CELEBORN_HOME"])), folder)
    try:
        _start(cluster, "master", 0)
        for number in range(workers):
            _start(cluster, "worker", number)
        wait_for(lambda: _registered(cluster) == workers, f"{workers} workers that are registered: {folder}", READY_S)
        yield cluster
    finally:
        for server in cluster.servers:
            server.kill()


@contextmanager
def another_worker(cluster: Celeborn, **settings: object) -> Iterator[Server]:
    """One worker more, until the block ends; its number is never used again."""
    before = _registered(cluster)
    _start(cluster, "worker", len(cluster.workers), settings)
    wait_for(lambda: _registered(cluster) == before + 1, "another worker that is registered", READY_S)
    worker = cluster.workers[-1]
    try:
        yield worker
    finally:
        worker.kill()


def start_again(cluster: Celeborn, worker: Server) -> None:
    """It is killed, and another one begins in its folder, which has none of its files to offer."""
    before = _registered(cluster)
    worker.kill()
    worker.start()
    wait_for(lambda: _registered(cluster) == before + 1, "a worker that is registered again", READY_S)


def graceful(recover: Path) -> dict[str, object]:
    """Settings of a worker that keeps its files when it is shut down, and has them when it is started again."""
    ports = {name: GRACEFUL + number for number, name in enumerate(("rpc", "push", "fetch", "replicate"))}
    return {
        **{f"celeborn.worker.{name}.port": port for name, port in ports.items()},
        "celeborn.worker.graceful.shutdown.enabled": "true",
        "celeborn.worker.graceful.shutdown.recoverPath": recover,
        "celeborn.worker.graceful.shutdown.checkSlotsFinished.interval": "100ms",
    }


def shut_down_and_start_again(cluster: Celeborn, worker: Server) -> None:
    """As for a new version of it: it ends by itself."""
    before = _registered(cluster)
    worker.end(READY_S)
    worker.start()
    wait_for(lambda: _registered(cluster) == before + 1, "a worker that is registered again", READY_S)


def _registered(cluster: Celeborn) -> int:
    master = cluster.servers[0]
    assert master.process is not None
    assert master.process.poll() is None, master.said()[-3_000:]
    said = master.said()
    return said.count("Registered worker") + said.count("already exists, re-register")


def _start(cluster: Celeborn, kind: str, number: int, more: Mapping[str, object] = MappingProxyType({})) -> None:
    folder = cluster.folder / (kind if kind == "master" else f"{kind}-{number}")
    (folder / "conf").mkdir(parents=True)
    (folder / "data").mkdir()
    http = MASTER_HTTP + (0 if kind == "master" else number + 1)
    (folder / "conf" / "celeborn-defaults.conf").write_text(_settings(folder, http, more))
    (folder / "conf" / "log4j2.xml").write_text(_LOGGING)
    main = "master.Master" if kind == "master" else "worker.Worker"
    command = [
        str(Path(os.environ["JAVA_HOME"]) / "bin" / "java"), "-Xmx512m", "-XX:MaxDirectMemorySize=512m",
        *(f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in (*_OPENS, *_OPENS_INSIDE)),
        "-Dio.netty.tryReflectionSetAccessible=true",
        "-cp", f"{folder}/conf:{cluster.home.jars(kind)}",
        f"org.apache.celeborn.service.deploy.{main}", "--host", "127.0.0.1",
    ]  # fmt: skip
    here = {
        "CELEBORN_HOME": str(folder),
        "CELEBORN_CONF_DIR": str(folder / "conf"),
        "CELEBORN_LOCAL_HOSTNAME": "127.0.0.1",
    }
    server = Server(command, {**os.environ, **here}, folder / "log")
    server.start()
    cluster.servers.append(server)


def _settings(folder: Path, http: int, more: Mapping[str, object]) -> str:
    settings = {
        "celeborn.master.host": "127.0.0.1",
        "celeborn.master.port": MASTER,
        "celeborn.master.http.host": "127.0.0.1",
        "celeborn.master.http.port": MASTER_HTTP,
        "celeborn.master.endpoints": f"127.0.0.1:{MASTER}",
        "celeborn.master.heartbeat.worker.timeout": "4s",
        "celeborn.worker.http.host": "127.0.0.1",
        "celeborn.worker.http.port": http,
        "celeborn.worker.storage.dirs": folder / "data",
        "celeborn.worker.storage.disk.reserve.size": "1G",
        **more,
    }
    return "".join(f"{key} {value}\n" for key, value in settings.items())


_LOGGING = """<Configuration status="WARN"><Appenders><Console name="out"><PatternLayout
pattern="%d{HH:mm:ss.SSS} %p %c{1}: %m%n%ex"/></Console></Appenders>
<Loggers><Root level="INFO"><AppenderRef ref="out"/></Root></Loggers></Configuration>
"""
