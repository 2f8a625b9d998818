"""Files whose executor is gone, with the external shuffle service: deleted by name, by the service."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from listener_bridge.shuffle_services.api import Fenced, Freed
from listener_bridge.shuffle_services.native import NativeShuffleService
from listener_bridge.tap import facts
from listener_bridge.tap.tap import Tap
from tests.support.spark import FactLog, shuffle_files, spark_session, wait_for

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]
TIMEOUT = 20.0


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


@contextmanager
def standalone(folder: Path, service_port: int) -> Iterator[str]:
    """A master and a worker with the external shuffle service, of PySpark's own jars; ends what it started."""
    import pyspark

    home = Path(pyspark.__file__).parent
    scala = next((home / "jars").glob("scala-library-*.jar")).name.removeprefix("scala-library-")[:4]
    port = free_port()
    master = f"spark://127.0.0.1:{port}"
    env = {**os.environ, "SPARK_HOME": str(home), "SPARK_SCALA_VERSION": scala, "SPARK_LOCAL_IP": "127.0.0.1"}
    env |= {"SPARK_LOCAL_DIRS": str(folder), "SPARK_WORKER_DIR": str(folder / "work"), "PYSPARK_PYTHON": sys.executable}
    options = [
        "-Xmx256m",
        "-Dspark.shuffle.service.enabled=true",
        f"-Dspark.shuffle.service.port={service_port}",
        "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
        "--add-opens=java.base/java.nio=ALL-UNNAMED",
    ]
    java = ["java", "-cp", f"{home}/jars/*", *options]
    deploy = "org.apache.spark.deploy"
    ui = ["--webui-port", "0"]
    with ExitStack() as stack:
        for arguments in (
            [f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", str(port), *ui],
            [f"{deploy}.worker.Worker", "--host", "127.0.0.1", "--cores", "2", "--memory", "1g", *ui, master],
        ):
            process = stack.enter_context(
                subprocess.Popen([*java, *arguments], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            )
            stack.callback(process.terminate)
        yield master


def test_24_files_of_a_lost_executor_are_deleted_by_the_service(tmp_path: Path) -> None:
    service_port = free_port()
    conf = {
        "spark.shuffle.service.enabled": "true",
        "spark.shuffle.service.port": str(service_port),
        "spark.executor.cores": "1",
        "spark.executor.instances": "2",
        "spark.cores.max": "2",
    }
    with standalone(tmp_path, service_port) as master, spark_session(tmp_path, master, **conf) as spark:
        tap = Tap.open(spark)
        log, native = FactLog(tap), NativeShuffleService(tap)
        keyed = spark.sparkContext.parallelize(range(400), 4).map(lambda n: (n % 20, n)).partitionBy(3)
        right = sorted(keyed.collect())
        (shuffle,) = {s.stage.writes for s in log.of(facts.StageSubmitted) if s.stage.writes is not None}
        killed = kill_executors(spark)
        wait_for(lambda: len(log.of(facts.ExecutorRemoved)) == killed, "the loss of every executor")
        assert shuffle_files(tmp_path, shuffle)
        fenced = wait_for(lambda: f if isinstance(f := native.fence(shuffle, TIMEOUT), Fenced) else None, "the fence")
        assert isinstance(fenced, Fenced)
        assert native.free(fenced.locator, TIMEOUT) == Freed(fenced.bytes)
        assert shuffle_files(tmp_path, shuffle) == {}
        assert native.forget(fenced.locator, TIMEOUT) == Freed(0)
        assert sorted(keyed.collect()) == right
        tap.close()


def kill_executors(spark: object) -> int:
    context = spark.sparkContext._jsc.sc()  # type: ignore[attr-defined]
    ids = context.getExecutorIds()
    for index in range(ids.size()):
        context.killAndReplaceExecutor(ids.apply(index))
    return int(ids.size())
