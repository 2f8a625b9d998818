"""How fast do readers learn shuffle ids: from the coordinator, and from Celeborn's LifecycleManager beside it?

Both are asked over gRPC or Celeborn's own RPC by another process on the same machine, for the id of a shuffle that is
there. The LifecycleManager (`CELEBORN_HOME`: a distribution or a built tree; without it this row is left out) is that
of a PySpark application, keeps its answers in memory and is asked by 64 threads of its stock client, a call a question.
The coordinator is one replica process; its answers are in its log before they are given. It is asked a call a question
by an asyncio client with 64 calls under way, and in batches of 256, four under way, as drivers do. Everybody shares the
processors, so the ratios tell more than the rates.

Celeborn's servers bind to all interfaces, so this process moves into a network of its own (root, or `unshare -rn`).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import pyspark
from rich.console import Console
from rich.table import Table
from shuffle_lifecycle.v1 import common_pb2, service_pb2, service_pb2_grpc

from tests.support.celeborn import running_celeborn
from tests.support.etcd import running_etcd
from tests.support.replicas import ReplicaProcess, replica_process

_THREADS = _CALLS = 64
_BATCH, _BATCHES = 256, 4
_WARM_UP_S = 5.0
_DEADLINE_S = 30.0
_HERE = Path(__file__).parent / "asking"
_ASKER = "AskLifecycleManager"
_READER = common_pb2.StageAttempt(stage=1, attempt=0)
_QUESTION = service_pb2.GetShuffleId(app_shuffle=0, stage=_READER)

Stub = Any


def run(console: Console, wishes: argparse.Namespace) -> None:
    """Prints the table."""
    seconds = 1.0 if wishes.quick else 10.0
    with tempfile.TemporaryDirectory(prefix="bench-asking-") as folder:
        rates = dict(_rates(console, Path(folder), seconds))
    base = next(iter(rates.values()))
    table = Table("who answers", title=f"GetShuffleId a second, {seconds:.0f} s each, Spark {pyspark.__version__}")
    for heading in ("answers/s", "of the first row"):
        table.add_column(heading, justify="right")
    for name, rate in rates.items():
        table.add_row(name, f"{rate:,.0f}", f"{rate / base:.2f}")
    console.print(table)


def _rates(console: Console, folder: Path, seconds: float) -> Iterator[tuple[str, float]]:
    if "CELEBORN_HOME" in os.environ:
        yield f"Celeborn's LifecycleManager, {_THREADS} threads", _celeborn(folder / "celeborn", seconds)
    else:
        console.print("without Celeborn: CELEBORN_HOME is not set; a directory with a built or unpacked distribution")
    for name, size in (("SQLite", 0), ("etcd, 1 member", 1), ("etcd, 3 members", 3)):
        with _store(folder / f"store-{size}", size) as store, replica_process(store) as replica:
            yield f"{name}, {_CALLS} calls under way", _asked(replica, seconds, _one_by_one, _CALLS)
            yield f"{name}, batches of {_BATCH}", _asked(replica, seconds, _in_batches, _BATCHES)


# ---- Celeborn ----


def _celeborn(folder: Path, seconds: float) -> float:
    major, minor = map(int, pyspark.__version__.split(".")[:2])
    folder.mkdir(parents=True)
    with running_celeborn(folder) as cluster:
        client = str(cluster.home.client((major, minor)))
        with _celeborn_driver(cluster.conf((major, minor))) as told:
            asked = (told["host"], told["port"], told["application"], told["shuffle"], _THREADS, _WARM_UP_S, seconds)
            return _ask_lifecycle_manager(client, [str(argument) for argument in asked])


@contextmanager
def _celeborn_driver(conf: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    submit = " ".join(f"--conf {key}={value}" for key, value in conf.items())
    environment = {**os.environ, "PYSPARK_SUBMIT_ARGS": f"{submit} pyspark-shell"}
    command = [sys.executable, "-m", "benchmarks.asking.celeborn_driver"]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdin is not None
        assert driver.stdout is not None
        line = driver.stdout.readline()
        if not line:
            raise RuntimeError(f"the application on Celeborn did not start; it ended with {driver.wait()}")
        try:
            yield json.loads(line)
        finally:
            driver.stdin.close()


def _ask_lifecycle_manager(client: str, arguments: list[str]) -> float:
    """Compiled by the Janino that every PySpark brings, which runs it at once."""
    jars = Path(pyspark.__file__).parent / "jars"
    java = str(Path(os.environ["JAVA_HOME"]) / "bin" / "java")
    compiler = "org.codehaus.janino.SimpleCompiler"
    command = [java, "-cp", f"{client}:{jars}/*", compiler, str(_HERE / f"{_ASKER}.java"), _ASKER, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300)
    told = [line for line in done.stdout.splitlines() if line.startswith("answers a second: ")]
    if done.returncode or not told:
        raise RuntimeError(f"{_ASKER} ended with {done.returncode}: {done.stderr[-2_000:]}")
    return float(told[0].split(": ")[1])


# ---- the coordinator ----


@contextmanager
def _store(folder: Path, members: int) -> Iterator[str]:
    folder.mkdir(parents=True)
    if not members:
        yield f"sqlite://{folder}/store.db"
        return
    with running_etcd(folder, members) as cluster:
        yield "etcd://" + ",".join(each.removeprefix("http://") for each in cluster.endpoints) + "/asking"


def _asked(replica: ReplicaProcess, seconds: float, ask: Ask, under_way: int) -> float:
    return asyncio.run(_answers(replica.address, seconds, ask, under_way))


@dataclass
class Asking:
    """One client of a replica, and how far it has come. What is under way is never confirmed."""

    stub: Stub
    caller: service_pb2.Caller
    number: int = 0
    answered: int = 0
    under_way: set[int] = field(default_factory=set)

    def take(self, count: int) -> service_pb2.Caller:
        """So many numbers: who asks, with the first of them."""
        caller = service_pb2.Caller()
        caller.CopyFrom(self.caller)
        caller.number = self.number + 1
        self.number += count
        self.under_way.add(caller.number)
        caller.confirmed = min(self.under_way) - 1
        return caller

    def done(self, caller: service_pb2.Caller, count: int) -> None:
        self.under_way.remove(caller.number)
        self.answered += count


Ask = Callable[[Asking], Awaitable[None]]


async def _answers(address: str, seconds: float, ask: Ask, under_way: int) -> float:
    """Answers a second, with so many calls under way."""
    async with grpc.aio.insecure_channel(address) as channel:
        asking = await _one_shuffle(service_pb2_grpc.ShuffleLifecycleStub(channel))
        over = False

        async def one_after_the_other() -> None:
            while not over:
                await ask(asking)

        calls = {asyncio.create_task(one_after_the_other()) for _ in range(under_way)}
        await _meanwhile(calls, _WARM_UP_S)
        before, begun = asking.answered, time.perf_counter()
        await _meanwhile(calls, seconds)
        rate = (asking.answered - before) / (time.perf_counter() - begun)
        over = True
        await asyncio.gather(*calls)
        return rate


async def _meanwhile(calls: set[asyncio.Task[None]], seconds: float) -> None:
    failed, _ = await asyncio.wait(calls, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
    for call in failed:
        call.result()


async def _one_by_one(asking: Asking) -> None:
    caller = asking.take(1)
    reply = await asking.stub.GetShuffleId(
        service_pb2.GetShuffleIdCall(caller=caller, command=_QUESTION), timeout=_DEADLINE_S
    )
    if reply.WhichOneof("answer") != "ready":
        raise RuntimeError(f"the shuffle is there, and the answer was {reply}")
    asking.done(caller, 1)


async def _in_batches(asking: Asking) -> None:
    caller = asking.take(_BATCH)
    await _submit(asking, caller, [{"get_shuffle_id": _QUESTION}] * _BATCH, "ready")
    asking.done(caller, _BATCH)


async def _submit(asking: Asking, caller: service_pb2.Caller, commands: list[dict[str, Any]], hoped: str) -> None:
    numbered = [
        service_pb2.NumberedRequest(number=number, **command) for number, command in enumerate(commands, caller.number)
    ]
    reply = await asking.stub.Submit(service_pb2.SubmitCall(caller=caller, requests=numbered), timeout=_DEADLINE_S)
    answers = {answer.WhichOneof("answer") for answer in reply.answers}
    if answers != {hoped}:
        raise RuntimeError(f"every answer should be {hoped}, these came: {answers}")


async def _one_shuffle(stub: Stub) -> Asking:
    """A client of an application with one readable shuffle and a stage that reads it."""
    application, writer = f"asking-{time.time_ns()}", common_pb2.StageAttempt(stage=0)
    caller = service_pb2.Caller(application=application)
    wished = service_pb2.RegisterApplication(application=application, driver=common_pb2.Driver(name="asking"))
    call = service_pb2.RegisterApplicationCall(caller=caller, command=wished)
    caller.token = (await stub.RegisterApplication(call, timeout=_DEADLINE_S)).token
    caller.client = "executor"
    asking = Asking(stub, caller)
    lineage, stages = [common_pb2.Lineage(app_shuffle=0, maps=4)], [common_pb2.Span(first=0, last=1)]
    commands: list[dict[str, Any]] = [
        {"register_client": service_pb2.RegisterClient(client=caller.client)},
        {
            "report_job_started": service_pb2.ReportJobStarted(
                job=0, final_stage=1, reads=[0], stages=stages, lineage=lineage
            )
        },
        {"report_stage_submitted": service_pb2.ReportStageSubmitted(stage=writer, writes=0, tasks=4)},
        {"report_stage_completed": service_pb2.ReportStageCompleted(stage=writer, shuffle_bytes_written=1_000)},
        {"report_stage_submitted": service_pb2.ReportStageSubmitted(stage=_READER, reads=[0], tasks=1_000_000)},
    ]
    first = asking.take(len(commands))
    await _submit(asking, first, commands, "accepted")
    asking.done(first, len(commands))
    return asking
