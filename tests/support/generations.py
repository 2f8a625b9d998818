"""Our Java's counts of generations, as tests look at them.

Responsible for: finding them from a tap, and reaching what of our Java is not public.
Refuses to know: who counts. Invariant: the counts are those that the session's adapter goes by.
"""

from __future__ import annotations

from typing import Any

from listener_bridge.shuffle_services import native
from listener_bridge.tap.tap import Tap


def generations(tap: Tap) -> Any:
    """The counts of this application."""
    counts = native.load(tap).loadClass("shufflelifecycle.Generations")
    of = next(m for m in counts.getMethods() if str(m.getName()) == "of" and "static" in str(m.toString()))
    return of.invoke(None, _array(tap, tap.java.scheduler()))


def called(tap: Tap, target: Any, method: str, *arguments: Any) -> Any:
    """What a method of the target, which has no other one of this name, answers."""
    [found] = [m for m in target.getClass().getDeclaredMethods() if str(m.getName()) == method]
    found.setAccessible(True)
    return found.invoke(target, _array(tap, *arguments))


def kept_in(target: Any, name: str) -> Any:
    """What a field of the target holds; py4j itself gives none."""
    found = target.getClass().getDeclaredField(name)
    found.setAccessible(True)
    return found.get(target)


def _array(tap: Tap, *items: Any) -> Any:
    array = tap.driver.gateway.new_array(tap.driver.gateway.jvm.java.lang.Object, len(items))
    for index, item in enumerate(items):
        array[index] = item
    return array
