"""The marks on a running driver: the Java that keeps generations apart, and the way to start it.

Responsible for: compiling the hook into the driver and handing it the tap, the counts of the native service and what
the user has chosen.
Refuses to know: when anything is marked. All of that is Java, in the scheduler's own thread; no Python is in its path.
Invariant: what was started stays until the context stops: after `detach`, without a coordinator, when the bridge has
died. There is one an application; attaching again only tells it the new choices.
"""

from __future__ import annotations

from listener_bridge.shuffle_services import native
from listener_bridge.tap import jvm
from listener_bridge.tap.jvm import JavaObject
from listener_bridge.tap.tap import Tap


def keep_apart(tap: Tap, strict: bool = False, deterministic: bool = False) -> JavaObject:
    """Start it for this application, which deletes native shuffles. To be called before the first of them is fenced."""
    driver = tap.driver
    loader = driver.load(jvm.sources_beside(__file__), parent=native.load(tap))
    of = loader.loadClass(f"{jvm.JAVA_PACKAGE}.MarkListener").getMethods()
    start = next(method for method in of if str(method.getName()) == "of")
    values = (driver.context, tap.java, driver.map_output_tracker, driver.block_manager, strict, deterministic)
    arguments = driver.gateway.new_array(driver.gateway.jvm.java.lang.Object, len(values))
    for index, value in enumerate(values):
        arguments[index] = value
    return start.invoke(None, arguments)
