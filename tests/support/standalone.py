"""A small standalone cluster with the external shuffle service, of PySpark's own jars.

Responsible for: starting a master and a worker, ending them, and killing executors of a session on them.
Refuses to know: what runs there. Invariant: what it started is ended with the block.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


@contextmanager
def with_service(folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Two executors whose shuffle files outlive them: the master's address, and what a session must be told."""
    service_port = free_port()
    with standalone(folder, service_port) as master:
        yield (
            master,
            {
                "spark.shuffle.service.enabled": "true",
                "spark.shuffle.service.port": str(service_port),
                "spark.executor.cores": "1",
                "spark.executor.instances": "2",
                "spark.cores.max": "2",
            },
        )


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


def executors(spark: Any) -> list[str]:
    """The executors of the session, by Spark's ids."""
    found = spark.sparkContext._jsc.sc().getExecutorIds()
    return [str(found.apply(index)) for index in range(found.size())]


def kill_executor(spark: Any, executor: str) -> None:
    """Another one comes in its place."""
    spark.sparkContext._jsc.sc().killAndReplaceExecutor(executor)
