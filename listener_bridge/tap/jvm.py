"""The driver's JVM: Java compiled into it, and the few objects of Spark that our Java needs.

Responsible for: turning `*.java` files beside a Python module into classes of the driver, once an application; finding
the parts of Spark's environment without naming it.
Refuses to know: what the classes do.
Invariant: nothing here changes Spark; a driver that cannot be tapped is said to be so, with the reason.

Two facts shape it. Every PySpark ships the Janino compiler, so no jar is needed. And in Spark 4.3 any reflection over
Spark's environment object fails, py4j's too, so its parts are fetched by method handles.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JavaObject: TypeAlias = Any
"""Whatever py4j hands us: there are no types for it."""

JAVA_PACKAGE = "shufflelifecycle"
_PARTS = {
    "mapOutputTracker": "org.apache.spark.MapOutputTracker",
    "blockManager": "org.apache.spark.storage.BlockManager",
    "shuffleManager": "org.apache.spark.shuffle.ShuffleManager",
}


_LOADERS: dict[tuple[JavaObject, str], JavaObject] = {}
"""What was compiled: (gateway, source) -> class loader. PySpark keeps one gateway for the life of the process."""


class CannotTapError(RuntimeError):
    """This driver cannot be listened to: what was found, what would be needed."""


@dataclass(frozen=True, slots=True)
class DriverJvm:
    """One application's JVM side. `parts` are of Spark's environment: tracker, block manager, shuffle manager."""

    gateway: JavaObject
    context: JavaObject
    version: tuple[int, int]
    map_output_tracker: JavaObject
    block_manager: JavaObject
    shuffle_manager: JavaObject

    def load(self, sources: Sequence[str], parent: JavaObject | None = None) -> JavaObject:
        """Compile the sources together and answer their class loader, a child of `parent`.

        Once a JVM: py4j remembers methods by the name of the class, so a second class of the same name, of the next
        application in this JVM, would be called with the methods of the first, which fails.
        """
        unit = merge(sources, self._constructs_task_sets_with_flag())
        key = (self.gateway, unit)
        if key not in _LOADERS:
            compiler = self.gateway.jvm.org.codehaus.janino.SimpleCompiler()
            compiler.setParentClassLoader(parent if parent is not None else self._context_loader())
            compiler.cook(unit)
            _LOADERS[key] = compiler.getClassLoader()
        return _LOADERS[key]

    def construct(self, loader: JavaObject, name: str, *arguments: object) -> JavaObject:
        """Make an instance of our class `name`, which has one public constructor that takes objects."""
        array = self.gateway.new_array(self.gateway.jvm.java.lang.Object, len(arguments))
        for index, argument in enumerate(arguments):
            array[index] = argument
        return loader.loadClass(f"{JAVA_PACKAGE}.{name}").getConstructors()[0].newInstance(array)

    def conf(self, key: str, default: str) -> str:
        return str(self.context.conf().get(key, default))

    def _context_loader(self) -> JavaObject:
        return self.gateway.jvm.java.lang.Thread.currentThread().getContextClassLoader()

    def _constructs_task_sets_with_flag(self) -> bool:
        task_set = _class(self.gateway, "org.apache.spark.scheduler.TaskSet")
        return int(task_set.getConstructors()[0].getParameterCount()) == 8


def connect(spark: SparkSession) -> DriverJvm:
    """Find what our Java needs of the session's driver, or say why it cannot be had."""
    context = getattr(spark, "_sc", None)
    if context is None or getattr(context, "_gateway", None) is None:
        raise CannotTapError(
            f"{type(spark).__module__}.{type(spark).__name__} has no driver in this process (Spark Connect?); "
            "expected a classic SparkSession: attach in the process that runs the driver"
        )
    gateway, scala_context = context._gateway, context._jsc.sc()  # noqa: SLF001 - PySpark has no public way
    try:
        parts = [_part(gateway, scala_context, name, type_) for name, type_ in _PARTS.items()]
    except Exception as error:  # py4j's many kinds: whatever it is, this driver is not to be tapped
        raise CannotTapError(f"Spark {spark.version} keeps its environment elsewhere than expected: {error}") from error
    major, minor = (int(number) for number in re.findall(r"\d+", spark.version)[:2])
    return DriverJvm(gateway, scala_context, (major, minor), *parts)


def sources_beside(module_file: str) -> tuple[str, ...]:
    """The Java sources that lie beside a Python module, sorted by name; also in a zip, as of `--py-files`."""
    folder = Path(module_file).parent
    packed = next((place for place in folder.parents if place.is_file()), None)
    if packed is None:
        return tuple(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.java")))
    inside = zipfile.Path(packed, f"{folder.relative_to(packed).as_posix()}/").iterdir()
    found = sorted((path for path in inside if path.name.endswith(".java")), key=lambda path: path.name)
    return tuple(path.read_text(encoding="utf-8") for path in found)


def merge(sources: Sequence[str], task_set_has_flag: bool) -> str:
    """Make one compilation unit of several: one package, all imports, all classes.

    Spark 4.3 gave the constructor of a task set one more argument; that is the one line that differs by version.
    """
    imports = sorted({line for source in sources for line in source.splitlines() if line.startswith("import ")})
    classes = [re.sub(r"^(package|import) .*\n", "", source, flags=re.MULTILINE) for source in sources]
    unit = "\n".join([f"package {JAVA_PACKAGE};", *imports, *classes])
    return unit.replace("/*LAST_ARGUMENT*/", ", false" if task_set_has_flag else "")


def _part(gateway: JavaObject, context: JavaObject, name: str, type_: str) -> JavaObject:
    invoke = gateway.jvm.java.lang.invoke
    signature = invoke.MethodType.methodType(_class(gateway, type_))
    environment = _class(gateway, "org.apache.spark.SparkEnv")
    arguments = gateway.jvm.java.util.ArrayList()
    arguments.add(context.env())
    return invoke.MethodHandles.publicLookup().findVirtual(environment, name, signature).invokeWithArguments(arguments)


def _class(gateway: JavaObject, name: str) -> JavaObject:
    loader = gateway.jvm.java.lang.Thread.currentThread().getContextClassLoader()
    return gateway.jvm.java.lang.Class.forName(name, True, loader)
