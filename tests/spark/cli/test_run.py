"""`shufflectl run`: an unmodified PySpark program gives what it gives under plain Python, and its log tells of it."""

from __future__ import annotations

import sys
from pathlib import Path

import pyspark
import pytest

from tests.integration.cli.processes import COMMAND, shufflectl
from tests.spark.cli.conftest import CONF, run

#: Each test starts several drivers, one after the other.
pytestmark = [pytest.mark.timeout(400), pytest.mark.newest]

PROGRAM = """
import sys
from operator import add
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[2]").appName("unmodified").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
words = spark.sparkContext.parallelize(range(1000), 4).map(lambda n: (n % 10, n)).reduceByKey(add)
again = words.map(lambda pair: (pair[1] % 3, pair[0])).groupByKey(2)
print(sys.argv[1:], __name__, sorted((key, sorted(values)) for key, values in again.collect()))
print(spark.range(100).groupBy("id").count().count())
if "fail" in sys.argv:
    raise KeyError("mine")
sys.exit(7)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(PROGRAM)
    return tmp_path / "app.py"


def test_a_program_gives_what_it_gives_and_its_log_tells_of_it(program: Path) -> None:
    store = f"sqlite://{program.parent}/log.db"
    plain = run(program.parent, sys.executable, "app.py", "--store", "x")
    wishes = ("--policy", "frontier", "--store", store, "--conf", "spark.shuffleLifecycle.name=mine")
    ours = run(program.parent, *COMMAND, "run", *wishes, "app.py", "--store", "x")
    assert (ours.returncode, ours.stdout) == (plain.returncode, plain.stdout) == (7, ours.stdout), ours.stderr
    (told,) = shufflectl(program.parent, "apps", "--store", store, "-o", "json").data
    assert (told["name"], told["policy"], told["state"]) == ("mine", "frontier", "ended")
    kinds = {row["kind"] for row in shufflectl(program.parent, "events", "--store", store, "-", "-o", "json").data}
    assert {"JobStarted", "GenerationCompleted", "GenerationExpired", "GenerationDeleted"} <= kinds
    stories = [shufflectl(program.parent, "explain", "--store", store, "-", number).out for number in (0, 1)]
    assert any("by policy frontier" in story for story in stories), stories


@pytest.mark.parametrize("way", ["the driver's Python", pytest.param("the file before it", marks=pytest.mark.slow)])
def test_spark_submit_runs_an_unmodified_program_too(program: Path, way: str) -> None:
    store = f"sqlite://{program.parent}/log.db"
    conf = {**CONF, "spark.shuffleLifecycle.policy": "frontier", "spark.shuffleLifecycle.store": store}
    first: list[str] = []
    if way == "the file before it":
        first = [run(program.parent, sys.executable, "-m", "listener_bridge").stdout.strip()]
    else:
        conf["spark.pyspark.driver.python"] = str(installed_command(program.parent))
    program.write_text(program.read_text().replace('.appName("unmodified")', ""))
    submit = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
    options = [part for key, value in conf.items() for part in ("--conf", f"{key}={value}")]
    ours = run(program.parent, submit, *options, *first, "app.py", "--store", "x")
    assert ours.returncode == 7, ours.stderr
    assert "['--store', 'x'] __main__ [(0, " in ours.stdout
    (told,) = shufflectl(program.parent, "apps", "--store", store, "-o", "json").data
    assert (told["name"], told["policy"], told["state"]) == ("app.py", "frontier", "ended")


def test_without_spark_submit_the_program_starts_spark_itself(program: Path) -> None:
    """A JVM that was there before it would not have its packages and its memory."""
    program.write_text("from pyspark import SparkContext\nprint(SparkContext._gateway)\n")
    assert run(program.parent, str(installed_command(program.parent)), "app.py").stdout == "None\n"


def installed_command(folder: Path) -> Path:
    """What pip makes of our entry point."""
    command = folder / "shuffle-lifecycle-python"
    command.write_text(f"#!{sys.executable}\nfrom listener_bridge.running.submitted import python\npython()\n")
    command.chmod(0o755)
    return command


@pytest.mark.slow
def test_a_program_that_fails_shows_its_own_traceback(program: Path) -> None:
    ours = run(program.parent, *COMMAND, "run", "app.py", "fail")
    assert ours.returncode == 1
    shown = ours.stderr[ours.stderr.index("Traceback") :]
    assert f'File "{program}"' in shown.splitlines()[1]
    assert "coordinator/cli" not in shown
    assert "listener_bridge/running" not in shown
    assert "KeyError: 'mine'" in shown


@pytest.mark.parametrize(
    ("wish", "word"),
    [
        (("--policy", "frontal"), "did you mean"),
        (("--conf", "spark.shuffleLifecycle.polcy=x"), "policy"),
        (("--conf", "nonsense"), "KEY=VALUE"),
    ],
)
def test_a_wrong_wish_is_told_before_anything_runs(program: Path, wish: tuple[str, str], word: str) -> None:
    ours = run(program.parent, *COMMAND, "run", *wish, "app.py")
    assert (ours.returncode, ours.stdout) == (2, "")
    assert word in ours.stderr
    assert len(ours.stderr.splitlines()) == 1
