"""A real Uniffle for tests: a coordinator and servers as processes, from a distribution or a built tree.

Responsible for finding the jars under `UNIFFLE_HOME`, for starting, killing and ending processes, and for what lies on
the servers' disks. Refuses to build or fetch anything. Invariant: it runs in a network of its own (`alone`), as servers
bind to all interfaces, and ends only what it started.

Neither ships Hadoop's classes; PySpark does, so they are taken from there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.alone import be_alone
from tests.support.servers import Server, files_below, newest
from tests.support.spark import wait_for

COORDINATOR, COORDINATOR_HTTP = 19999, 19998
SERVERS, SERVERS_HTTP = 19980, 19960
READY_S = 120.0
#: A server's own is 128 MB: tests would never flush anything.
FLUSH_AT = os.environ.get("UNIFFLE_FLUSH_AT", "64k")
_HADOOP = ("hadoop-client-api", "hadoop-client-runtime", "commons-")


@dataclass(frozen=True)
class Home:
    """A directory with a built or unpacked distribution."""

    path: Path

    def jars(self, module: str) -> str:
        """The class path of a server."""
        if (self.path / "jars" / module).is_dir():
            own = f"{self.path}/jars/{module}/*"
        else:
            name = "coordinator" if module == "coordinator" else "shuffle-server"
            target = self.path / module / "target"
            own = f"{newest(target, f'{name}-[0-9]*.jar')}:{target}/jars/*"
        return f"{own}:{_hadoop()}"

    def client(self) -> Path:
        """The stock client for Spark 3; of Maven Central's, where `UNIFFLE_CLIENT` names it."""
        if named := os.environ.get("UNIFFLE_CLIENT"):
            return Path(named)
        pattern = "rss-client-spark3-shaded-[0-9]*.jar"
        if (self.path / "jars").is_dir():
            return newest(self.path / "jars" / "client" / "spark3", pattern)
        return newest(self.path / "client-spark" / "spark3-shaded" / "target", pattern)


def _hadoop() -> str:
    import pyspark

    jars = (Path(pyspark.__file__).parent / "jars").glob("*.jar")
    return ":".join(str(jar) for jar in sorted(jars) if jar.name.startswith(_HADOOP))


@dataclass
class Uniffle:
    """A running cluster."""

    home: Home
    folder: Path
    coordinator: Server
    servers: list[Server] = field(default_factory=list)

    def conf(self) -> dict[str, str]:
        """What a session of Spark needs to use it. One server a shuffle: the most generations out of few servers."""
        client = str(self.home.client())
        return {
            "spark.driver.extraClassPath": client,
            "spark.executor.extraClassPath": client,
            "spark.shuffle.manager": "org.apache.spark.shuffle.RssShuffleManager",
            "spark.shuffle.sort.io.plugin.class": "org.apache.spark.shuffle.RssShuffleDataIo",
            "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
            "spark.rss.coordinator.quorum": f"127.0.0.1:{COORDINATOR}",
            "spark.rss.storage.type": "MEMORY_LOCALFILE",
            "spark.rss.client.type": "GRPC",
            "spark.rss.dynamicClientConf.enabled": "false",
            "spark.rss.client.assignment.shuffle.nodes.max": "1",
            "spark.rss.client.retry.max": "3",
            "spark.rss.client.retry.interval.max": "1000",
            "spark.rss.client.assignment.retry.interval": "500",
            "spark.rss.client.assignment.retry.times": "2",
            "spark.executorEnv.RSS_IP": "127.0.0.1",
        }

    def data(self, server: int) -> Path:
        return self.folder / f"server-{server}" / "data"

    def files(self) -> dict[Path, int]:
        """What lies on the servers' disks, of all shuffles of all applications: path of a data file by its size."""
        data = (self.data(server) for server in range(len(self.servers)))
        found = {path: size for folder in data for path, size in files_below(folder).items()}
        return {path: size for path, size in found.items() if path.suffix == ".data"}

    def bytes_on_disk(self, application: str, app_shuffle: int) -> int:
        """What the servers' disks hold of one shuffle: they lay files out by application, shuffle and partitions."""
        return sum(size for path, size in self.files().items() if f"/{application}/{app_shuffle}/" in str(path))


@contextmanager
def running_uniffle(folder: Path, servers: int = 4, server_heap: str = "400m") -> Iterator[Uniffle]:
    """A cluster of its own, ready; it ends with the block. A server's buffers for readers are as large as its heap."""
    be_alone()
    os.environ["RSS_IP"] = "127.0.0.1"
    home = Home(Path(os.environ["UNIFFLE_HOME"]))
    cluster = Uniffle(home, folder, _coordinator(home, folder / "coordinator"))
    try:
        cluster.coordinator.start()
        for number in range(servers):
            _start_server(cluster, number, server_heap)
        wait_for(lambda: _registered(cluster) == servers, f"{servers} servers that are registered: {folder}", READY_S)
        yield cluster
    finally:
        for server in (*cluster.servers, cluster.coordinator):
            server.kill()


def _registered(cluster: Uniffle) -> int:
    for server in (cluster.coordinator, *cluster.servers):
        assert server.process is not None
        assert server.process.poll() is None, server.said()[-3_000:]
    return cluster.coordinator.said().count("ewly registering node")


def _coordinator(home: Home, folder: Path) -> Server:
    settings = {
        "rss.rpc.server.port": COORDINATOR,
        "rss.jetty.http.port": COORDINATOR_HTTP,
        "rss.coordinator.server.heartbeat.timeout": 30_000,
        "rss.coordinator.app.expired": 60_000,
        "rss.coordinator.shuffle.nodes.max": 2,
        "rss.coordinator.server.heartbeat.interval": 2_000,
    }
    (folder / "data").mkdir(parents=True)
    return _server(
        home, folder, "coordinator", "org.apache.uniffle.coordinator.CoordinatorServer", settings, "-Xmx256m"
    )


def _start_server(cluster: Uniffle, number: int, heap: str) -> None:
    folder = cluster.folder / f"server-{number}"
    settings = {
        "rss.rpc.server.port": SERVERS + number,
        "rss.jetty.http.port": SERVERS_HTTP + number,
        "rss.coordinator.quorum": f"127.0.0.1:{COORDINATOR}",
        "rss.storage.type": "MEMORY_LOCALFILE",
        "rss.storage.basePath": folder / "data",
        "rss.server.buffer.capacity": "128m",
        "rss.server.read.buffer.capacity": "64m",
        "rss.server.disk.capacity": "4g",
        "rss.server.heartbeat.delay": 500,
        "rss.server.heartbeat.interval": 1_000,
        "rss.server.single.buffer.flush.threshold": FLUSH_AT,
        "rss.server.tags": "GRPC",
    }
    (folder / "data").mkdir(parents=True)
    main = "org.apache.uniffle.server.ShuffleServer"
    cluster.servers.append(_server(cluster.home, folder, "server", main, settings, f"-Xmx{heap}"))
    cluster.servers[-1].start()


def _server(home: Home, folder: Path, module: str, main: str, settings: Mapping[str, object], heap: str) -> Server:
    conf = folder / "server.conf"
    conf.write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
    (folder / "log4j2.xml").write_text(_LOGGING)
    command = [
        str(Path(os.environ["JAVA_HOME"]) / "bin" / "java"), heap, "-cp", f"{folder}:{home.jars(module)}",
        main, "--conf", str(conf),
    ]  # fmt: skip
    return Server(command, {**os.environ, "RSS_IP": "127.0.0.1"}, folder / "log")


_LOGGING = """<Configuration status="WARN"><Appenders><Console name="out"><PatternLayout
pattern="%d{HH:mm:ss.SSS} %p %c{1}: %m%n%ex"/></Console></Appenders>
<Loggers><Root level="INFO"><AppenderRef ref="out"/></Root></Loggers></Configuration>
"""
