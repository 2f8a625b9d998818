"""Which names are said to be dead, and that a reading leaves the program as it was."""

from __future__ import annotations

import dis
import gc
import os
import subprocess
import sys
import sysconfig
import threading
import time
import types
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from listener_bridge.reach import liveness
from listener_bridge.reach.liveness import (
    borrowing,
    codes,
    dataflow,
    forwarding,
    frames,
    functions,
    opcodes,
    survey,
    values,
)
from listener_bridge.reach.liveness.assigning import Assigned
from listener_bridge.reach.liveness.dataflow import Step
from listener_bridge.reach.liveness.methods import attributes_read
from listener_bridge.reach.liveness.using import How, Use
from tests.support.liveness import ROOT, VERSIONS, Program, Thing, in_a_thread, main_module, pythons
from tests.support.liveness_rules import RULES, failures

READS_BYTECODE = sys.version_info[:2] in opcodes.KNOWN

bytecode = pytest.mark.skipif(not READS_BYTECODE, reason="this Python's bytecode is not read: nothing is ever dead")


@bytecode
@pytest.mark.parametrize("rule", RULES)
def test_rule(rule: str) -> None:
    assert failures(rule) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_rules_on_every_python_that_is_read(version: str) -> None:
    """Each version compiles the same program to other instructions."""
    python = pythons()[version]
    if python is None:
        pytest.skip(f"there is no python{version} on PATH or in ~/.pyenv/versions")
    ran = subprocess.run(
        [python, "-m", "tests.support.liveness_rules"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, f"{len(RULES)} rules hold\n", "")


A_DEAD_GLOBAL_AND_A_DEAD_LOCAL = """
g = thing("global")
def f():
    a = thing("local")
    probe(EXPECTED)
f()
"""


def expecting(labels: str) -> str:
    return A_DEAD_GLOBAL_AND_A_DEAD_LOCAL.replace("EXPECTED", repr(labels))


@bytecode
def test_a_main_module_without_a_file_keeps_every_global() -> None:
    assert Program(expecting("global local")).run().failures == []
    assert Program(expecting("local"), is_file=False).run().failures == []


@bytecode
def test_a_piece_of_a_program_keeps_every_global() -> None:
    """Who runs a cell, as a notebook's kernel of its own kind does, may run another one next, or the same again."""
    program = Program(expecting("local"))
    with main_module(program.main):
        exec(program._code, program.main.__dict__)
    assert program.failures == []
    assert Program(expecting("global local")).run().failures == []


A_FUNCTION_OUT_OF_A_LIST = """
def one():
    return use(a)
a = thing("a")
box = [one]
probe("")
other = taken()
other()
"""


@bytecode
def test_a_name_that_a_function_got_while_frames_were_read_may_call_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The frame stood before `other` was bound, from where nothing reads it; the list has let go of the function."""
    program = Program(A_FUNCTION_OUT_OF_A_LIST)
    main = program.main.__dict__
    main["taken"] = lambda: main["other"]
    counted = functions.called_by_name

    def goes_on(*read: Any) -> Any:
        main["other"] = main["box"].pop()
        return counted(*read)

    monkeypatch.setattr(frames, "called_by_name", goes_on)
    assert program.run().failures == []


A_FUNCTION_IN_TWO_PLACES = """
def one():
    return use(a)
a = thing("a")
box = iter((one,))
other = one
probe("")
next(box)()
"""


@bytecode
def test_a_name_that_has_lost_a_function_while_frames_were_read_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two names, two references: but when the names were read somebody else had it, too."""
    program = Program(A_FUNCTION_IN_TWO_PLACES)
    main = program.main.__dict__
    counted = functions.called_by_name

    def goes_on(*read: Any) -> Any:
        main["other"] = None
        return counted(*read)

    monkeypatch.setattr(frames, "called_by_name", goes_on)
    assert program.run().failures == []


A_PROGRAM_THAT_LOOKS = """
import threading
from listener_bridge.reach import liveness

class Thing:
    pass

a, b = Thing(), Thing()
a_id, found = id(a), []
is_own = lambda frame: frame.f_code.co_filename == __file__
look = threading.Thread(target=lambda: found.append(liveness.dead_references(is_own)))
look.start()
look.join()
print(a_id in found[0].references, id(b) in found[0].references)
"""


@bytecode
@pytest.mark.parametrize(
    "start",
    [
        ("program.py",),
        ("-m", "program"),
        ("-X", "frozen_modules=off", "-m", "program"),
        ("-c", "from listener_bridge.running.program import start; start('program.py', [])"),
    ],
    ids=["python", "python -m", "python -m, runpy from its file", "shufflectl run"],
)
def test_a_program_is_whole_however_it_is_started(start: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(A_PROGRAM_THAT_LOOKS)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, *start], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert (ran.stdout, ran.stderr) == ("True False\n", "")


@bytecode
def test_a_prompt_keeps_every_global(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    assert Program(expecting("local")).run().failures == []


def names_of_ranks(main: types.ModuleType, is_own: Callable[[FrameType], bool]) -> list[tuple[str, str]]:
    """By which names it is said to be held, and in which files these stand."""
    told: list[Any] = []
    in_a_thread(lambda: told.append(liveness.dead_references(is_own)))
    return [(name.name, name.file) for name in told[0].names.get(id(main.__dict__["ranks"]), ())]


def names_while_it_runs(program: Program) -> list[tuple[str, str]]:
    told: list[tuple[str, str]] = []
    program.main.__dict__["look"] = lambda: told.extend(names_of_ranks(program.main, program.is_own))
    program.run()
    return told


@bytecode
def test_what_a_session_holds_has_a_name_between_two_cells() -> None:
    main = types.ModuleType("__main__")
    main.__dict__["_7"] = main.__dict__["_"] = main.__dict__["ranks"] = Thing("ranks")
    with main_module(main):
        assert names_of_ranks(main, lambda frame: False) == [("ranks", ""), ("_7", "")]


@bytecode
def test_a_program_whose_code_could_read_any_name_has_names_to_tell() -> None:
    program = Program("import inspect\nranks = thing('ranks')\nlook()\n")
    assert names_while_it_runs(program) == [("ranks", program.file)]


@bytecode
def test_a_cell_that_runs_gives_its_file_to_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """`%run` leaves `__file__` behind, so that the frames of later cells are read as a module's."""
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    assert names_while_it_runs(Program("ranks = thing('ranks')\nlook()\n")) == [("ranks", "")]


def ipython(monkeypatch: pytest.MonkeyPatch, **shell: object) -> None:
    """Loaded, as PySpark 4 loads it wherever it is installed."""
    module = types.ModuleType("IPython.core.interactiveshell")
    if shell:
        module.__dict__["InteractiveShell"] = type("InteractiveShell", (), shell)
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, module.__name__, module)


@bytecode
def test_an_ipython_that_is_only_loaded_keeps_no_global(monkeypatch: pytest.MonkeyPatch) -> None:
    ipython(monkeypatch, _instance=None)
    assert Program(expecting("global local")).run().failures == []


@bytecode
@pytest.mark.parametrize("shell", [{"_instance": object()}, {"another": None}, {}], ids=["runs", "unknown", "loading"])
def test_an_ipython_that_may_run_keeps_every_global(shell: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    ipython(monkeypatch, **shell)
    assert Program(expecting("local")).run().failures == []


@bytecode
@pytest.mark.parametrize(
    ("imported", "shell", "dead"),
    [
        ("from tools import embed", None, "global local"),
        ("from tools import embed", object(), ""),
        ("from IPython.terminal.embed import embed", None, ""),
    ],
    ids=["of another", "of another, where a shell runs", "of a shell"],
)
def test_embed_is_a_shells_where_one_is_imported_or_runs(
    imported: str, shell: object, dead: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ipython(monkeypatch, _instance=shell)
    program = f"def ask():\n    {imported}\n    embed()\n{A_DEAD_GLOBAL_AND_A_DEAD_LOCAL}"
    assert Program(program.replace("EXPECTED", repr(dead))).run().failures == []


@bytecode
@pytest.mark.parametrize("watch", [sys.settrace, sys.setprofile, threading.settrace, threading.setprofile])
def test_nothing_is_dead_while_somebody_watches(watch: Callable[[Any], None]) -> None:
    """A local trace function shows in the frames of another thread; the rest to whoever asks."""
    program = Program("a = thing('a')\nprobe('')\n")
    watch(lambda *event: None)
    try:
        found = liveness.dead_references(program.is_own)
    finally:
        watch(None)
    assert found == liveness.Dead()


@bytecode
def test_nothing_is_dead_while_a_frame_is_traced() -> None:
    program = Program(expecting(""))
    program.main.__dict__["follow"] = lambda: setattr(sys._getframe(1), "f_trace", lambda *event: None)
    program._code = compile(expecting("").replace("probe", "follow(); probe"), program.file, "exec")
    assert program.run().failures == []


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring came with 3.12")
def test_nothing_is_dead_while_a_tool_monitors() -> None:
    monitoring = sys.monitoring  # type: ignore[attr-defined]
    monitoring.use_tool_id(2, "a profiler")
    try:
        assert Program(expecting("")).run().failures == []
    finally:
        monitoring.free_tool_id(2)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="3.11 does not show it, unless a frame is followed")
@pytest.mark.parametrize("watch", [sys.settrace, sys.setprofile])
def test_nothing_is_dead_while_another_thread_is_watched(watch: Callable[[Any], None]) -> None:
    is_watched, may_end = threading.Event(), threading.Event()

    def work() -> None:
        watch(lambda *event: None)
        is_watched.set()
        may_end.wait()
        watch(None)

    thread = threading.Thread(target=work)
    thread.start()
    is_watched.wait()
    try:
        assert Program(expecting("")).run().failures == []
    finally:
        may_end.set()
        thread.join()


def test_nothing_is_dead_on_a_python_that_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "_IS_KNOWN", False)
    assert Program(expecting("")).run().failures == []


def test_it_imports_on_a_python_that_is_not_read() -> None:
    python = Path.home() / ".pyenv" / "versions"
    found = sorted(python.glob("3.10.*/bin/python3.10"))
    if not found:
        pytest.skip("there is no python3.10 in ~/.pyenv/versions")
    asked = "from tests.support.liveness import Program as P; p = P('a = thing(1)'); print(p.run().unused(), p.last)"
    ran = subprocess.run([found[-1], "-c", asked], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert ran.stdout == f"set() {liveness.Dead()}\n", ran.stderr


@bytecode
@pytest.mark.parametrize(
    "made",
    [
        "look",
        "staticmethod(look)",
        "property(look)",
        "functools.cache(look)",
        "functools.cached_property(look)",
        "functools.partial(look)",
        "functools.partialmethod(look)",
        "functools.singledispatchmethod(look)",
        "type('Kept', (), {'names': functools.cached_property(look), '__module__': __name__})",
    ],
)
def test_what_a_module_beside_the_program_has_made_of_its_functions(made: str, monkeypatch: pytest.MonkeyPatch) -> None:
    beside = types.ModuleType("beside")
    beside.__file__ = "/nowhere/beside.py"
    monkeypatch.setitem(sys.modules, "beside", beside)
    look = "def look(*some): return sys._getframe(1).f_locals"
    exec(f"import functools, sys\n{look}\nmade = {made}\nif made is not look: del look\n", beside.__dict__)
    assert Program("a = thing('a')\nprobe('')\n").run().failures == []
    monkeypatch.delitem(sys.modules, "beside")
    assert Program("a = thing('a')\nprobe('a')\n").run().failures == []


@bytecode
def test_a_program_that_is_a_link_has_its_modules_where_it_leads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("bin", "app"):
        (tmp_path / name).mkdir()
    (tmp_path / "app" / "program.py").touch()
    (tmp_path / "bin" / "program").symlink_to(tmp_path / "app" / "program.py")
    beside = types.ModuleType("beside")
    beside.__file__ = str(tmp_path / "app" / "beside.py")
    monkeypatch.setitem(sys.modules, "beside", beside)
    exec("import sys\ndef look(): return sys._getframe(1).f_locals\n", beside.__dict__)
    program = Program("a = thing('a')\nprobe('')\n")
    program.main.__file__ = str(tmp_path / "bin" / "program")
    assert program.run().failures == []


@bytecode
def test_decorators_of_libraries_are_not_followed() -> None:
    def handing_on(step: Callable[..., object]) -> Callable[..., object]:
        def wrapper(*given: object) -> object:
            return step(*given)

        return wrapper

    class Job:
        raw = 1

        @handing_on
        def one(self) -> object:
            return self.raw

    calls, nothing = [Use(How.CALL, "one")], Assigned(frozenset(), frozenset(), any=False)
    assert attributes_read(Job, calls, nothing, lambda file: file == __file__) == frozenset({"one", "raw"})
    assert attributes_read(Job, calls, nothing, lambda file: False) is None


@bytecode
def test_the_rules_find_decorators_that_are_taken_for_plain_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    def first(code: CodeType, instructions: Sequence[dis.Instruction]) -> forwarding.Forwarded | None:
        return next(iter(forwarding.forwarded(code, instructions).values()), None)

    monkeypatch.setattr(codes, "_cache", {})
    monkeypatch.setattr(codes, "handed_to", first)
    assert failures("decorators that use the object themselves, or give the method up") != []


@bytecode
@pytest.mark.parametrize("told", ["import jobs_of_later", "def f():\n    from . import jobs_of_later"])
def test_what_modules_that_come_later_give_to_classes_is_not_known(told: str, tmp_path: Path) -> None:
    code = [codes.analysis_of(compile(f"{told}\nf.a = 1", str(tmp_path / "program.py"), "exec"))]
    folders = (f"{tmp_path}/",)
    assert survey._assigned(code, folders) == Assigned(frozenset({"a"}), frozenset({"a"}), any=False)
    (tmp_path / "jobs_of_later.py").touch()
    survey._may_be_own.cache_clear()
    assert survey._assigned(code, folders) is None


@bytecode
def test_modules_that_come_later_may_lie_below_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = [codes.analysis_of(compile("import jobs_in_lib", str(tmp_path / "program.py"), "exec"))]
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "jobs_in_lib.py").touch()
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site-packages"), *sys.path])
    assert survey._assigned(code, (f"{tmp_path}/",)) is not None
    monkeypatch.setattr(sys, "path", [str(tmp_path / "lib"), *sys.path])
    assert survey._assigned(code, (f"{tmp_path}/",)) is None


@bytecode
def test_python_and_spark_below_the_programs_folder_are_not_the_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """`~/job.py`, run by a Python in `~/.pyenv` or `~/miniconda3`; `/opt/job.py` beside `/opt/spark`."""
    spark = types.ModuleType("pyspark.some")
    spark.__file__ = "/spark/python/pyspark/some.py"
    monkeypatch.setitem(sys.modules, "pyspark.some", spark)
    exec("import sys\ndef look(): return sys._getframe(1).f_locals\n", spark.__dict__)
    program = Program("a = thing('a')\nprobe('a')\n")
    for folder in (Path(sysconfig.get_path("stdlib")).parent, Path("/spark")):
        program.main.__file__ = str(folder / "job.py")
        assert program.run().failures == [], folder


@bytecode
def test_a_module_beside_a_program_in_the_root_folder_is_the_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    beside = types.ModuleType("beside")
    beside.__file__ = "/beside.py"
    monkeypatch.setitem(sys.modules, "beside", beside)
    exec("import sys\ndef look(): return sys._getframe(1).f_locals\n", beside.__dict__)
    program = Program("a = thing('a')\nprobe('')\n")
    program.main.__file__ = "/job.py"
    assert program.run().failures == []


@bytecode
def test_only_own_frames_have_dead_names() -> None:
    program = Program(expecting(""))
    program.is_own = lambda frame: False  # type: ignore[method-assign]
    assert program.run().failures == []


@bytecode
def test_a_question_that_fails_harms_nobody() -> None:
    program = Program(expecting(""))

    def fails(frame: types.FrameType) -> bool:
        raise RuntimeError(frame.f_code.co_name)

    program.is_own = fails  # type: ignore[method-assign]
    assert program.run().failures == []
    assert program.last == liveness.Dead(moved=True)


@bytecode
def test_the_live_names_are_told_for_people() -> None:
    program = Program("def f():\n    a = thing('a')\n    probe('')\n    return a\nx = f()\nprobe('')\nuse(x)\n")
    program.main.__dict__["probe"] = lambda expected: told.append(names(program))
    told: list[set[liveness.Name]] = []
    program.run()
    assert told == [
        {liveness.Name("a", program.file, 1, "f")},
        {liveness.Name("x", program.file, 1, "<module>")},
    ]


def names(program: Program) -> set[liveness.Name]:
    program.unused()
    (held,) = [reference() for reference in program._things]
    return set(program.last.names.get(id(held), ()))


@bytecode
def test_variables_and_lifetimes_are_as_without_a_reading() -> None:
    """What `f_locals` leaves in a frame on 3.11 and 3.12 would show in each of these."""
    died: list[str] = []
    seen: list[object] = []

    def work() -> None:
        first, second = Thing("first"), Thing("second")
        weakref.finalize(first, died.append, "first")
        weakref.finalize(second, died.append, "second")
        read()
        del first
        seen.append(list(died))
        second = Thing("third")
        seen.append(list(died))
        read()
        seen.append(second.label)

    def read() -> None:
        in_a_thread(lambda: found.append(liveness.dead_references(lambda frame: frame.f_code is work.__code__)))

    found: list[liveness.Dead] = []
    work()
    assert seen == [["first"], ["first", "second"], "third"]
    assert not any(dead.moved for dead in found)


@bytecode
def test_a_snapshot_that_somebody_holds_is_left_alone() -> None:
    """A library looked at its caller's variables, and kept what it was given."""

    def work() -> dict[str, Any]:
        kept_by_caller = Thing("kept")
        snapshot = look()
        in_a_thread(lambda: found.append(liveness.dead_references(lambda frame: frame.f_code is work.__code__)))
        return {**snapshot, "own": kept_by_caller}

    def look() -> Any:
        return sys._getframe(1).f_locals

    found: list[liveness.Dead] = []
    kept = work()
    assert kept["kept_by_caller"] is kept["own"]


@bytecode
def test_a_class_body_is_not_touched() -> None:
    program = Program("class Job:\n    a = 1\n    n = probe('')\n    b = a + 1\nuse(Job.b)\n")
    assert program.run().failures == []
    assert program.main.Job.b == 2


@bytecode
def test_nothing_is_kept_and_no_garbage_is_made() -> None:
    program = Program("def f():\n    a = thing('a')\n    probe('a')\nf()\nprobe('')\n")
    gc.collect()
    gc.disable()
    try:
        program.run()
        assert [reference() for reference in program._things] == [None]
    finally:
        gc.enable()
    assert program.failures == []


@bytecode
def test_a_program_that_moves_is_not_believed() -> None:
    """Whatever is said of a thread that never rests, is said of a moment."""
    stop = threading.Event()
    answers: list[liveness.Dead] = []

    def restless() -> None:
        while not stop.is_set():
            a: list[object] = [1]
            b: list[object] = [a]
            a = b

    def is_own(frame: FrameType) -> bool:
        return frame.f_code is restless.__code__

    deadline = time.monotonic() + 30
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread = threading.Thread(target=restless)
    thread.start()
    try:
        while time.monotonic() < deadline and not (len(answers) >= 200 and any(answer.moved for answer in answers)):
            answers.append(liveness.dead_references(is_own))
    finally:
        stop.set()
        thread.join()
        sys.setswitchinterval(interval)
    moved = [answer for answer in answers if answer.moved]
    assert moved
    assert all(not answer.references and not answer.names for answer in moved)


FRAMES, NAMES_EACH = 30, 4

DEEP = f"""
def deep(n, a, b, c):
    if n:
        deep(n - 1, thing("a"), b, c)
    else:
        measure()
    use(a)
deep({FRAMES - 2}, None, None, None)
"""


@bytecode
def test_every_frame_of_a_deep_stack_is_read() -> None:
    program = Program(DEEP)
    read: list[int] = []

    def measure() -> None:
        said = liveness.dead_references(program.is_own)
        read.append(sum(map(len, said.names.values())) + sum(said.references.values()))

    program.main.__dict__["measure"] = lambda: in_a_thread(measure)
    program.run()
    assert len(read) == 1
    assert read[0] >= FRAMES * (NAMES_EACH - 1)


# --- counting


def test_counts_leave_out_the_sequence_and_the_counting() -> None:
    free, held = Thing("free"), Thing("held")
    holder = [held]
    things = [free, held]
    del free, held
    assert liveness.counts(things, liveness.Dead()) == [0, 1]
    assert liveness.counts(tuple(things), liveness.Dead()) == [1, 2]
    assert liveness.counts([], liveness.Dead()) == []
    assert holder == things[1:]


# --- the pure parts


def test_every_instruction_of_this_python_is_known_or_left_out_on_purpose() -> None:
    if not READS_BYTECODE:
        pytest.skip("this Python's bytecode is not read")
    left_out = {
        "CACHE", "ENTER_EXECUTOR", "EXIT_INIT_CHECK", "INTERPRETER_EXIT", "LOAD_LOCALS", "PRINT_EXPR", "RESERVED",
    }  # fmt: skip
    real = {name for name, number in dis.opmap.items() if number < 256 and not name.startswith("INSTRUMENTED_")}
    assert real - opcodes.KNOWN[dataflow.RUNNING] <= left_out


def test_every_instruction_that_names_a_variable_or_jumps_has_its_effect() -> None:
    if not READS_BYTECODE:
        pytest.skip("this Python's bytecode is not read")
    known = opcodes.KNOWN[dataflow.RUNNING]
    assert {dis.opname[op] for op in dis.haslocal} & known <= set(opcodes.FAST)
    of_objects = {
        "STORE_ATTR", "DELETE_ATTR", "LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "IMPORT_NAME", "IMPORT_FROM",
    }  # fmt: skip
    assert {dis.opname[op] for op in dis.hasname} & known <= set(opcodes.NAMED) | of_objects
    told_alone = {"END_ASYNC_FOR"}  # since 3.14 its argument tells monitoring where the loop is; it jumps nowhere
    jumps = {dis.opname[op] for op in (*dis.hasjrel, *dis.hasjabs)} & known - told_alone
    assert jumps == (opcodes.ALWAYS_JUMPS | opcodes.MAY_JUMP) & known


@bytecode
def test_every_instruction_that_lends_what_a_variable_holds_is_known_as_one() -> None:
    lends = {name for name in opcodes.KNOWN[dataflow.RUNNING] if "BORROW" in name}
    assert lends == (opcodes.BORROWS if dataflow.RUNNING >= borrowing.SINCE else set())


@bytecode
def test_what_is_lent_is_named_until_the_stack_is_as_low_again() -> None:
    def held(a: Any, *rest: Any, b: Any = None, **more: Any) -> Any:
        keep = [a, b]
        return keep[0](keep, rest).of(more)

    instructions = list(dis.get_instructions(held))
    lent = borrowing.lent(instructions)
    if dataflow.RUNNING < borrowing.SINCE:
        assert lent == [frozenset()] * len(instructions)
        return
    by_opname = {one.opname: names for one, names in zip(instructions, lent, strict=True)}
    assert by_opname["BUILD_LIST"] == {"a", "b"}
    assert by_opname["STORE_FAST"] == {"a"}  # what took both lies where it lay
    assert by_opname["CALL"] == {"keep", "more"}
    assert by_opname["RETURN_VALUE"] == {"keep"}
    assert borrowing.arguments(held.__code__) == ("a", "b", "rest", "more")


@bytecode
def test_what_changes_places_with_something_lower_is_named_as_long() -> None:
    stack = [("LOAD_FAST_BORROW", "a"), ("LOAD_FAST_BORROW", "b"), ("SWAP", 2), ("POP_TOP", None), ("NOP", None)]
    instructions = [instruction(at, opname, told) for at, (opname, told) in enumerate(stack)]
    assert borrowing.lent(instructions)[-1] == {"a", "b"}


def instruction(at: int, opname: str, told: object) -> Any:
    """As `dis` tells it, of whichever version."""
    arg = 0 if isinstance(told, str) else told
    opcode = dis.opmap.get(opname, dis.opmap["LOAD_FAST"])
    return types.SimpleNamespace(offset=2 * at, opname=opname, opcode=opcode, arg=arg, argval=told)


@bytecode
def test_an_unknown_instruction_makes_everything_live() -> None:
    code = Thing.__init__.__code__
    instructions = list(dis.get_instructions(code))
    assert dataflow.lives_of(code, instructions, opcodes.Space.FAST) is not None
    assert dataflow.lives_of(code, instructions, opcodes.Space.FAST, version=(3, 99)) is None


def test_live_variables_of_a_loop_with_a_handler() -> None:
    a, b, c = 1, 2, 4
    steps = [
        Step(writes=a, successors=(1,)),
        Step(reads=a, touches=a, successors=(2, 3), handlers=(4,)),
        Step(writes=b, successors=(1,), handlers=(4,)),
        Step(),
        Step(reads=c, touches=c),
    ]
    assert dataflow.live_variables(steps) == (a | c, a | c, a | c, 0, c)


def test_a_variable_written_and_read_by_one_instruction_is_live_within_it() -> None:
    assert dataflow.live_variables([Step(reads=0, touches=1, writes=1)]) == (1,)


@bytecode
def test_exception_ranges_are_those_of_dis() -> None:
    def guarded() -> None:
        try:
            with Thing("a"):
                print("b")
        except ValueError:
            print("c")
        finally:
            print("d")

    table: bytes = guarded.__code__.co_exceptiontable  # type: ignore[attr-defined]
    entries = [(entry.start, entry.end, entry.target) for entry in dis._parse_exception_table(guarded.__code__)]  # type: ignore[attr-defined]
    assert list(dataflow.exception_ranges(table)) == entries
    assert len(entries) > 3


@bytecode
def test_the_cache_is_bounded_and_keeps_no_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codes, "CACHE_MAX", 3)
    monkeypatch.setattr(codes, "_cache", {})
    made = [compile(f"a = {number}", "made", "exec") for number in range(5)]
    found = [codes.analysis_of(code) for code in made]
    assert len(codes._cache) <= 3
    assert codes.analysis_of(made[4]) is found[4]
    gone = weakref.ref(made[4])
    del made
    assert gone() is None


@bytecode
def test_the_code_of_libraries_is_not_analysed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes milliseconds at the first look, and tells nothing: only in frames of the program are names dead."""
    analysed: list[str] = []

    def noting(code: CodeType) -> codes.Analysis:
        analysed.append(code.co_filename)
        return analysis_of(code)

    analysis_of = codes.analysis_of
    monkeypatch.setattr(codes, "analysis_of", noting)
    arrived, leave = threading.Event(), threading.Event()

    def stand_in_threading() -> None:
        arrived.set()
        leave.wait()

    waiting = threading.Thread(target=stand_in_threading)
    waiting.start()
    arrived.wait()
    frames.dead_references(lambda frame: frame.f_code.co_filename == __file__)
    leave.set()
    waiting.join()
    assert set(analysed) == {__file__}


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="only 3.11 reads variables by way of a snapshot")
def test_no_thread_can_come_between_the_count_and_the_taking() -> None:
    """3.11 gives way after calls, at jumps back and where it makes a container: there is none of these."""
    instructions = list(dis.get_instructions(values._snapshot))
    first = next(at for at, step in enumerate(instructions) if step.opname == "UNPACK_SEQUENCE")
    second = next(at for at, step in enumerate(instructions) if step.opname == "BINARY_OP")
    between = {step.opname for step in instructions[first : second + 1]}
    assert between == {
        "UNPACK_SEQUENCE", "STORE_FAST", "LOAD_FAST", "COMPARE_OP", "POP_JUMP_FORWARD_IF_FALSE", "BINARY_OP",
    }  # fmt: skip
