"""Stories in the notation of the scenarios, told to the core and told back by it.

Responsible for turning `s0>A, s1:A>B, s2:B!` into the facts that a driver would report, and events into short lines.
Refuses to decide anything. Invariant: every step is witnessed: all invariants hold after it.

`s0>A` is a map stage that writes app shuffle A; `s1:A>B` reads A and writes B; `s2:B!` is a result stage that writes
output bytes; `s2:B.` one that writes none. `A1`, `A2` are generations of A. Every map stage has 10 tasks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from coordinator.core import commands as c
from coordinator.core.events import Recorded
from coordinator.core.ids import (
    ApplicationId,
    AppShuffle,
    DirectiveId,
    ExecutionId,
    JobId,
    LookId,
    ShuffleId,
    StageAttempt,
    StageId,
    spans_of,
)
from coordinator.core.lifecycle import Life
from coordinator.core.rejections import AlreadyConfirmed, Answer, NotReady, Ready, Recover, Rejection
from coordinator.core.sweep import next_due_ms
from coordinator.core.values import (
    Capabilities,
    DirectiveKind,
    Driver,
    Level,
    Lineage,
    Locator,
    Outputs,
    Policy,
    RootKind,
    Rule,
    Settings,
)
from tests.property.witness import Witness
from tests.scenarios.telling import Teller

MAPS = 10
BYTES = 100

REACHABLE = Policy(Rule.REACHABLE, observe=False)
FRONTIER = Policy(Rule.FRONTIER, observe=False)
EAGER = Policy(Rule.EAGER, observe=False)
PRESSURE = Policy(Rule.PRESSURE, observe=False)
OBSERVE = Policy(Rule.REACHABLE, observe=True)


def delayed(policy: Policy, grace_ms: int) -> Policy:
    """The policy with a grace period."""
    return replace(policy, grace_ms=grace_ms)


@dataclass(frozen=True)
class Stage:
    """One stage as a story writes it."""

    stage: StageId
    reads: tuple[AppShuffle, ...]
    writes: AppShuffle | None
    outputs: bool


_STAGE = re.compile(r"s(\d+)(?::([A-Z](?:,[A-Z])*))?(?:>([A-Z])|([!.]))")


def shuffle(letter: str) -> AppShuffle:
    """A is app shuffle 0, B is 1."""
    return AppShuffle(ord(letter) - ord("A"))


def stages_of(text: str) -> list[Stage]:
    """The stages that a story lists, in its order."""
    found = [match.groups() for match in _STAGE.finditer(text)]
    return [
        Stage(
            StageId(int(number)),
            tuple(sorted(map(shuffle, reads.split(",")))) if reads else (),
            shuffle(writes) if writes else None,
            end == "!",
        )
        for number, reads, writes, end in found
    ]


class Story:
    """One application, told step by step. Each verb gives back the events that followed, as lines."""

    def __init__(
        self,
        policy: Policy = REACHABLE,
        capabilities: Capabilities = Capabilities(),
        settings: Settings = Settings(),
        levels: dict[str, Level] | None = None,
        barrier: str = "",
        costs_ms: dict[str, int] | None = None,
    ) -> None:
        self.now_ms = 1_000
        self.witness = Witness()
        self.teller = Teller()
        self._jobs = 0
        self._looks = 0
        self._levels = levels or {}
        self._barrier = barrier
        self._costs_ms = costs_ms or {}
        self._lineage: dict[AppShuffle, Lineage] = {}
        self._stages: dict[StageId, Stage] = {}
        self._roots: set[str] = set()
        self.last: Answer
        self.log: list[Recorded] = []
        self.do(c.RegisterApplication(ApplicationId("app"), Driver(), capabilities, policy, settings))

    @property
    def state(self) -> Any:
        return self.witness.state

    @property
    def recoveries(self) -> int:
        """How many were opened."""
        return int(self.state.meta.next_recovery) - 1

    def do(self, command: c.Command) -> list[str]:
        """Carries out any command; what follows, as lines."""
        self.last, self.log = self.witness.do(command, self.now_ms)
        return self.teller.tell(self.log)

    def at(self, now_ms: int) -> None:
        """Time passes, unnoticed."""
        self.now_ms = now_ms

    def tick(self, later_ms: int = 0) -> list[str]:
        """Time passes, and is noticed."""
        self.now_ms += later_ms
        return self.do(c.Tick())

    # ---- jobs and stages ---------------------------------------------------------------------------------------------

    def job(self, text: str, **extra: Any) -> list[str]:
        """A job starts; the last stage is its final one."""
        stages = stages_of(text)
        self._stages.update({stage.stage: stage for stage in stages})
        final = stages[-1]
        job = JobId(extra.pop("job", self._jobs))
        self._jobs = job + 1
        execution = extra.pop("execution", None)
        return self.do(
            c.ReportJobStarted(
                job,
                final.stage,
                final.reads,
                final.writes,
                spans_of(tuple(stage.stage for stage in stages)),
                tuple(self._lineage_of(stage) for stage in stages if stage.writes is not None),
                ExecutionId(execution) if execution is not None else None,
                **extra,
            )
        )

    def _lineage_of(self, stage: Stage) -> Lineage:
        assert stage.writes is not None
        letter = chr(stage.writes + ord("A"))
        level = self._levels.get(letter, Level.DETERMINATE)
        return Lineage(stage.writes, stage.reads, level, letter in self._barrier, MAPS)

    def submit(self, name: str, tasks: int = MAPS, cached: bool = False, behind: str = "") -> list[str]:
        """A stage attempt is submitted: `s1`, or `s1.1`. `behind`: of what it reads; `cached` alone: perhaps all."""
        attempt = attempt_of(name)
        stage = self._stages[attempt.stage]
        hidden = tuple(map(shuffle, behind))
        is_cached = cached or bool(behind)
        return self.do(
            c.ReportStageSubmitted(attempt, stage.reads, stage.writes, tasks, cached=is_cached, behind=hidden)
        )

    def complete(self, name: str) -> list[str]:
        """It ends well."""
        attempt = attempt_of(name)
        stage = self._stages[attempt.stage]
        written = BYTES if stage.writes is not None else 0
        cost_ms = self._costs_ms.get(chr(stage.writes + ord("A")), 0) if stage.writes is not None else 0
        output = 7 if stage.outputs else 0
        return self.do(
            c.ReportStageCompleted(attempt, shuffle_bytes_written=written, output_bytes=output, task_ms=cost_ms)
        )

    def fail(self, name: str) -> list[str]:
        """It ends badly."""
        return self.do(c.ReportStageCompleted(attempt_of(name), failure="executor lost"))

    def run(self, *names: str) -> list[str]:
        """Submitted, and completed."""
        return [line for name in names for line in (*self.submit(name), *self.complete(name))]

    def end(self, job: int = 0, succeeded: bool = True) -> list[str]:
        return self.do(c.ReportJobEnded(JobId(job), succeeded))

    def whole(self, text: str, **extra: Any) -> list[str]:
        """A job that runs all its stages that are not skipped, and ends. `-s0>A` is skipped."""
        lines = self.job(text.replace("-", ""), **extra)
        for name in [f"s{stage.stage}" for stage in stages_of(" ".join(re.findall(r"(?<!-)\bs\S+", text)))]:
            lines += self.run(name)
        return lines + self.end(self._jobs - 1)

    # ---- what the program reaches ------------------------------------------------------------------------------------

    def begin_look(self) -> list[str]:
        self._looks += 1
        return self.do(c.BeginLook(LookId(self._looks)))

    def report(self, held: str = "", kind: RootKind = RootKind.HANDLE) -> list[str]:
        """The look ends: one root for each word, of the shuffles that its letters name."""
        roots = {word: tuple(sorted(map(shuffle, word))) for word in held.split()}
        reported = tuple(c.ReportedRoot(word, kind, needs, f"held by {word.lower()}") for word, needs in roots.items())
        gone = tuple(sorted(self._roots - set(roots)))
        self._roots = set(roots)
        return self.do(c.ReportCut(LookId(self._looks), reported, gone))

    def look(self, held: str = "", kind: RootKind = RootKind.HANDLE) -> list[str]:
        """A whole look."""
        return [*self.begin_look(), *self.report(held, kind)]

    # ---- asking ------------------------------------------------------------------------------------------------------

    def read(self, letter: str, name: str) -> str:
        """A reader asks; its answer in words."""
        self.do(c.GetShuffleId(shuffle(letter), attempt_of(name)))
        return self.answered(self.last)

    def write(self, letter: str, name: str) -> str:
        self.do(c.GetShuffleId(shuffle(letter), attempt_of(name), write=True))
        return self.answered(self.last)

    def miss(self, generation: str, name: str | None) -> str:
        """A task reports a generation missing: `A1`, or `A` where it does not know which one."""
        shuffle_id = self.teller.id_of(generation) if len(generation) > 1 else ShuffleId(0)
        self.do(
            c.ReportMissing(shuffle(generation[0]), shuffle_id, attempt_of(name) if name is not None else None, "gone")
        )
        return self.answered(self.last)

    def answered(self, answer: Answer) -> str:
        """An answer in words."""
        if isinstance(answer, Ready):
            return f"ready {self.teller.name_of(answer.shuffle_id)}"
        if isinstance(answer, NotReady):
            return f"not ready: {answer.why}"
        if isinstance(answer, Recover):
            letters = "".join(chr(a + ord("A")) for a in answer.recompute)
            return f"recover {self.teller.name_of(answer.missing)}: recovery {answer.recovery} of {letters}"
        if isinstance(answer, Rejection):
            return answer.reason.value
        return "already confirmed" if isinstance(answer, AlreadyConfirmed) else "accepted"

    # ---- the driver --------------------------------------------------------------------------------------------------

    def outstanding(self, kind: DirectiveKind) -> list[DirectiveId]:
        return sorted(number for number, directive in self.state.directives.items() if directive.kind is kind)

    def outcome(self, kind: DirectiveKind, outcome: c.Outcome, directive: int | None = None) -> list[str]:
        """The driver answers the oldest directive of a kind, or the one named."""
        number = DirectiveId(directive) if directive is not None else self.outstanding(kind)[0]
        return self.do(c.ReportOutcome(number, outcome))

    def fenced(self) -> list[str]:
        return self.outcome(DirectiveKind.FENCE, c.Fenced(BYTES, Locator("native", b"1")))

    def freed(self) -> list[str]:
        return self.outcome(DirectiveKind.DELETE, c.Freed(BYTES))

    def delete_all(self) -> list[str]:
        """The driver carries out everything that it was asked for, until nothing is left."""
        lines: list[str] = []
        while self.state.directives or self._is_due():
            if not self.state.directives:
                lines += self.tick()
                continue
            number, directive = min(self.state.directives.items())
            fence = directive.kind is DirectiveKind.FENCE
            lines += self.do(c.ReportOutcome(number, c.Fenced(BYTES) if fence else c.Freed(BYTES)))
        return lines

    def _is_due(self) -> bool:
        due_ms = next_due_ms(self.state)
        return due_ms is not None and due_ms <= self.now_ms

    def lose(self, **left: int) -> list[str]:
        """Map outputs are gone: how many of ten are left."""
        return self.do(
            c.ReportOutputs(tuple(Outputs(shuffle(letter), available, MAPS) for letter, available in left.items()))
        )

    def disk(self, used: int, free: int, name: str = "/x") -> list[str]:
        """A disk is so full."""
        return self.do(c.ReportDisk(name, used, free))

    # ---- what is so --------------------------------------------------------------------------------------------------

    def life(self, generation: str) -> str:
        """`A1` is readable, or whatever it is."""
        shuffle_id = self.teller.id_of(generation)
        found = self.state.generations.get(shuffle_id)
        if found is not None:
            life: Life = found.life
            return life.value
        return "lost" if any(shuffle_id in span for span in self.state.meta.lost) else "deleted"

    def lives(self) -> str:
        """All that are alive: `A1 readable, B1 fencing`."""
        found = sorted(self.state.generations.items())
        return ", ".join(f"{self.teller.name_of(key)} {generation.life.value}" for key, generation in found)


def attempt_of(name: str) -> StageAttempt:
    """`s1` is attempt 0 of stage 1; `s1.2` its attempt 2."""
    stage, _, attempt = name.removeprefix("s").partition(".")
    return StageAttempt(StageId(int(stage)), int(attempt or 0))
