"""One short program for each rule of liveness: `python -m tests.support.liveness_rules` runs them on any Python.

Each probe names what nothing but dead names may hold there; what it does not name must be alive. What only dead
arguments hold is named after that: since 3.14 they may be lent, and live.
"""

from __future__ import annotations

import sys

from tests.support.attribute_rules import ATTRIBUTES
from tests.support.calling_rules import CALLED
from tests.support.forwarding_rules import FORWARDED
from tests.support.item_rules import ITEMS
from tests.support.lending_rules import LENT
from tests.support.liveness import Looking, Program

RULES = {
    "a script with a name for every step": """
rdd1 = thing("one")
rdd2 = thing("two")
probe("one")
use(rdd2)
rdd3 = thing("three")
probe("one two")
use(rdd3)
""",
    "dataclasses, whose methods are compiled from texts": """
from dataclasses import dataclass, field
@dataclass(order=True)
class Settings:
    rows: int = 3
    names: list = field(default_factory=list)
@dataclass(frozen=True)
class Step:
    name: str
    def again(self):
        return use(later)
first = thing("first"); later = thing("later"); named = thing("named")
probe("first named")
Settings(), Step("one")
""",
    "a field that is called as a name is, and a class that is defined in a function": """
from dataclasses import dataclass
def make():
    @dataclass
    class Made:
        named: int = 1
    return Made
Made = make()
first = thing("first"); named = thing("named")
probe("first named")
""",
    "a name that is read later lives": """
def f():
    a = thing("a"); b = thing("b")
    probe("a")
    return b
f()
""",
    "a call's own arguments live in the callee": """
def g(p, q, r):
    probe("", "p")
    use(q, r)
g(thing("p"), thing("q"), thing("r"))
""",
    **CALLED,
    **LENT,
    **ATTRIBUTES,
    **FORWARDED,
    **ITEMS,
    "pairs of variables in one instruction": """
def f(a, b, c, d):
    probe("", "c d")
    use(a, b)
    c, d = a, b
    use(c, d)
f(thing("a"), thing("b"), thing("c"), thing("d"))
""",
    "a look while the second of two variables drops what it held": """
class Old:
    def __del__(self):
        probe("")
def f(turn):
    a = b = None
    if turn > 18:
        a = Old()
        b = Old()
    a, b = thing("a"), thing("b")
    use(a, b)
for turn in range(20):
    f(turn)
""",
    "a loop reads again what it read": """
def f():
    r = thing("r"); s = thing("s")
    for k in range(2):
        probe("s" if k == 0 else "")
        use(r)
        s = None
f()
""",
    "a loop that binds its name anew": """
def f():
    r = thing("r0")
    for k in range(3):
        use(r)
        old = r
        r = thing("r%d" % (k + 1))
        probe("r%d" % k)
    return r
f()
""",
    "a loop at module level": """
r = thing("r0")
for k in range(3):
    use(r)
    old = r
    r = thing("r%d" % (k + 1))
    probe("r%d" % k)
use(r)
""",
    "del": """
def f():
    a = thing("a"); b = thing("b")
    probe("a b")
    del a
    probe("b")
f()
x = thing("x")
probe("x")
del x
probe("")
""",
    "a handler may read what the body does not": """
def f():
    a = thing("a"); b = thing("b")
    try:
        probe("b")
        a = None
    except ValueError:
        use(a)
f()
g = thing("g"); h = thing("h")
try:
    probe("h")
    g = None
except ValueError:
    use(g)
""",
    "finally": """
def f():
    a = thing("a"); b = thing("b")
    try:
        probe("b")
    finally:
        use(a)
    probe("a b")
f()
""",
    "with": """
def f():
    a = thing("a"); b = thing("b")
    with a as c:
        probe("b")
    return None
f()
""",
    "an exception's name": """
def f():
    e = thing("e")
    try:
        probe("e")
        raise ValueError
    except ValueError as e:
        probe("")
f()
""",
    "an exception on its way holds its frames": """
def g():
    a = thing("a")
    raise ValueError
def f():
    try:
        g()
    except ValueError:
        probe("")
    probe("")
f()
""",
    "cells live": """
def f():
    a = thing("a"); b = thing("b")
    def inner():
        return a
    probe("b")
    del inner
    probe("b")
f()
""",
    "a suspended generator keeps what it holds": """
def gen():
    a = thing("a")
    yield 1
    b = thing("b")
    probe("a b")
    yield 2
def f():
    it = gen()
    next(it)
    probe("")
    next(it)
    probe("")
f()
""",
    "a coroutine that waits": """
def f():
    async def co():
        a = thing("a"); b = thing("b")
        probe("b")
        return a
    try:
        co().send(None)
    except StopIteration:
        pass
f()
""",
    "containers, attributes and the stack hold": """
def f():
    a = thing("a"); b = thing("b"); c = thing("c"); d = thing("d"); box = [a]
    b.inner = c
    use(d, probe(""))
    probe("d")
    use(box, b)
f()
use(thing("t"), probe(""))
""",
    "a comprehension at module level": """
ra = thing("a"); rb = thing("b")
[probe("b") for k in range(2) if ra]
""",
    "what a comprehension at module level has read is dead behind it": """
ra = thing("a"); rb = thing("b"); rc = thing("c"); rd = thing("d"); re = thing("e")
[use(ra, probe("e")) for k in range(2) for j in [use(rb)]]
probe("a b e")
{k: [use(rc) for j in range(2)] for k in range(2)}
probe("a b c e")
keep = [lambda: rd for k in range(2)]
probe("a b c e")
""",
    "what a comprehension in a function has read is dead behind it": """
def f(p):
    a = thing("a"); b = thing("b"); c = thing("c"); d = thing("d"); e = thing("e")
    [use(a, p, probe("e")) for k in range(2)]
    probe("a e", "p")
    {k: [use(b) for j in range(2)] for k in range(2)}
    probe("a b e", "p")
    keep = [lambda: c for k in range(2)]
    probe("a b e", "p")
    use(keep)
    for k in range(2):
        probe("a b e", "p")
        use([d for j in range(2)])
    probe("a b e d", "p")
f(thing("p"))
""",
    "what a generator expression has read that a builtin has run is dead behind it": """
ra = thing("a"); rb = thing("b"); rc = thing("c"); rd = thing("d")
max(bool(use(ra, probe("d"))) for k in range(2))
probe("a d")
kept = iter(use(rb) for k in range(2))
found = sum((1 for k in range(2) if use(rc)), 0)
probe("a d")
""",
    "who has taken the name of such a builtin may keep what it is given": """
ra = thing("a"); rb = thing("b")
def max(given):
    kept.append(given)
kept = []
probe("")
max(use(ra) for k in range(2))
probe("")
""",
    "who had taken the name of such a builtin for a while may have kept what it was given": """
ra = thing("a")
def max(given):
    kept.append(given)
kept = []
max(use(ra) for k in range(2))
del max
probe("")
list(kept[0])
""",
    "lambdas, generator expressions, functions and class bodies name globals": """
la = thing("a"); lb = thing("b"); lc = thing("c"); ld = thing("d"); le = thing("e")
keep = [lambda: la, (lb for k in range(2)), lambda: [lc for k in range(2)]]
class K:
    def m(self):
        class Inner:
            x = ld
probe("e")
""",
    "a comprehension's variable hides the outer one": """
def f():
    x = thing("x"); y = thing("y")
    use([x for x in range(2) if not probe("y")])
    use(x)
    [probe("x y") for k in range(1)]
f()
""",
    "a comprehension's variable hides a cell": """
def f():
    a = thing("a"); b = thing("b"); free = thing("free")
    keep = lambda: a
    use([a for a in [1] if not probe("b")])
    def inner():
        c = thing("c")
        use([free for free in [1] if not probe("b c")])
        return free
    inner()
    use([(lambda: d)() for d in [1] if not probe("b")])
    return keep
f()
""",
    "locals": """
def f():
    a = thing("a")
    probe("")
    return locals()
f()
""",
    "eval": """
def f():
    a = thing("a")
    probe("")
    eval("a")
f()
""",
    "eval under another name": """
e = eval
def f():
    a = thing("a")
    probe("")
    return e
f()
""",
    "eval handed to somebody": """
def f(how=eval):
    a = thing("a")
    probe("")
f()
""",
    "eval as an argument": """
def f(how, text):
    a = thing("a")
    probe("")
    return how(text)
f(eval, "a")
""",
    "locals as an argument, the last one and by its name": """
def f(how):
    a = thing("a")
    probe("")
    return how()
def g():
    return f(locals), f(how=locals)
g()
""",
    "eval and the like called hand nothing on": """
def f():
    a = thing("a")
    probe("a")
def g(text, *more, **named):
    use(eval(text)) if more else exec(text)
    "{a}".format(**vars()), "{b}".format_map(locals())
    return eval(*more), [globals()["f"] for _ in more], named.update(**globals())
class C:
    here = dict(locals())
use(*vars(C))
exec("pass", globals())
f()
""",
    "a name such as dir as an argument": """
dir = "/data"
def f(path):
    a = thing("a")
    probe("a")
f(dir)
""",
    "eval imported": """
def f():
    from builtins import eval as e
    a = thing("a")
    probe("")
f()
""",
    "vars at module level": """
a = thing("a")
probe("")
vars()
""",
    "functions and methods called inspect and embed": """
class Model:
    def embed(self, rows):
        return self.inspect(rows, inspect=True)
    def inspect(self, rows, inspect=False):
        return rows if inspect else "inspect"
def inspect(rows):
    return rows
def embed(rows):
    a = thing("a"); b = thing("b")
    probe("a g")
    use(Model().embed(inspect(rows)), b)
g = thing("g")
embed(inspect([]))
use(map(embed, []))
""",
    "the module inspect": """
import inspect
g = thing("g")
probe("")
""",
    "the module inspect in a function": """
def f():
    from inspect import stack
    return stack
g = thing("g")
probe("")
""",
    "the module inspect, which another module's code has imported: its attribute": """
def f(how):
    return inspect.stack()
g = thing("g")
probe("")
""",
    "the module inspect, which another module's code has imported: called with what is unpacked": """
def f(how):
    return inspect.stack(*how)
g = thing("g")
probe("")
""",
    "the module inspect, which another module's code has imported: handed on": """
def f(how):
    return how(inspect)
g = thing("g")
probe("")
""",
    "the module inspect, which another module's code has imported: by another name": """
def f(how):
    return [inspect]
g = thing("g")
probe("")
""",
    "a shell": """
def f():
    import IPython
    IPython.embed()
g = thing("g")
probe("")
""",
    "vars of something is no way to names": """
import types
args = types.SimpleNamespace(a=1)
def f(options, more):
    a = thing("a"); b = thing("b")
    probe("a g")
    use(vars(options), vars(args).items(), dict(**vars(types.SimpleNamespace(b=2))), vars(options)["a"] if more else b)
g = thing("g")
f(args, ())
""",
    "vars of what may be nothing": """
def f(more):
    a = thing("a")
    probe("")
    use(vars(*more))
def g(options):
    a = thing("a")
    probe("")
    use(vars(options), vars())
def h(options, other):
    a = thing("a")
    probe("")
    use(vars(*(options if options else other)))
f([]); g(f); h([], [])
""",
    "the names alone": """
dir = "/data"
def f(path):
    a = thing("a")
    probe("a g")
g = thing("g")
f(dir + "/part")
""",
    "compile of another module is not ours": """
import re
a = thing("a")
probe("a")
re.compile("x")
""",
    "frames of callers": """
import sys
def peek():
    return sys._getframe(1).f_locals["a"]
def f():
    a = thing("a")
    probe("")
    return peek()
f()
""",
    "frames of callers that a text asks for": """
import sys
def peek():
    return getattr(getattr(sys, "_getframe")(1), "f_locals")["a"]
def f():
    a = thing("a")
    probe("")
    return peek()
f()
""",
    "globals of functions that a text asks for": """
import operator
a = thing("a")
def f(): pass
probe("")
operator.attrgetter("f.__globals__".partition(".")[2])(f)["a"]
""",
    "texts in which such words stand": """
def f():
    'As sys._getframe does, or f_locals. See modules, builtins and pdb.'
    a = thing("a")
    probe("a g")
    return {"modules": 1, "pdb": 2, "a b._getframe": 3}
g = thing("g")
f()
""",
    "a module that is made by hand, and is none of Python's": """
from importlib.machinery import SourceFileLoader
def load(path):
    return SourceFileLoader("plugin", path).load_module()
a = thing("a")
probe("")
""",
    "a dialect of SQL that takes its tables from the caller's variables": """
class api:
    fugue_sql = use
fa = api()
a = thing("a")
probe("")
fa.fugue_sql("SELECT * FROM a")
""",
    "the main module by way of the modules": """
import sys
a = thing("a")
probe("")
getattr(sys.modules["__main__"], "a")
""",
    "the main module imported, and its attribute": """
a = thing("a")
probe("")
import __main__
__main__.a
""",
    "the main module by its name in a text, and its attribute": """
import pkgutil
a = thing("a")
probe("")
getter = pkgutil.resolve_name
getter("__main__").a
""",
    "the main module's name as a default": """
import importlib
load = importlib.reload
a = thing("a")
def f(name="__main__"):
    return name
probe("")
f().a if False else None
""",
    "a method of the same name is no global": """
class K:
    def first(self):
        return 1
    union = property(lambda self: 2)
first = thing("first")
union = thing("union")
use(first)
def f(k):
    return k.union
if __name__ == "__main__":
    probe("first union")
    K().first()
    f(K())
if "__main__" == __name__:
    probe("first union")
""",
    "a module that has the same name in it": """
string = thing("string")
digits = thing("digits")
probe("string digits")
import string
from string import digits
""",
    "the names that a program leaves to who runs it": """
import runpy
a = thing("a")
probe("")
runpy.run_path
""",
    "the names of the main module that a text reads": """
import pkgutil
a = thing("a")
probe("")
pkgutil.resolve_name("__main__:a")
""",
    "super reads the first argument": """
class Base:
    def m(self):
        pass
class K(Base):
    def __init__(self, t):
        self.t = t
    def m(self, other):
        probe("", "o")
        super().m()
K(thing("t")).m(thing("o"))
""",
    "a query's text names a variable": """
def f():
    a = thing("a"); b = thing("b")
    probe("b")
    use("select * from {a}")
f()
""",
    "class bodies are not touched": """
class Job:
    a = thing("a")
    n = probe("")
    b = a
""",
    "match": """
def f(value):
    a = thing("a"); b = thing("b"); c = thing("c")
    match value:
        case [x, y]:
            probe("", "b c")
            use(a, x, y)
        case {"k": v}:
            use(b)
        case _:
            use(c)
f([1, 2])
""",
    "walrus, augmented assignment, star arguments": """
def f(*args, **kwargs):
    if (a := thing("a")) and (b := thing("b")):
        n = 1
        n += 1
        probe("b")
    use(a, n)
f(thing("s"), k=thing("k")) if 0 else f()
""",
    "a global that a function writes and module code reads": """
def f():
    global g
    g = thing("g")
    probe("")
f()
h = thing("h")
probe("h")
use(g)
""",
    "a global that a function writes and nobody reads": """
def f():
    global g
    g = thing("g")
    probe("g")
f()
""",
    "a global that a function writes and another one reads": """
def f():
    global g
    g = thing("g")
    probe("")
def h():
    return g
f()
h()
""",
    "other threads": """
import threading
done = threading.Event(); go = threading.Event()
def work():
    a = thing("a"); b = thing("b")
    go.set(); done.wait()
    use(b)
worker = threading.Thread(target=work); worker.start(); go.wait()
c = thing("c")
probe("a c")
done.set(); worker.join()
""",
    "while true, break, continue, else": """
def f():
    a = thing("a"); b = thing("b"); c = thing("c"); k = 0
    while True:
        k += 1
        if k == 1:
            probe("c")
            continue
        if k == 2:
            use(a)
            break
    else:
        use(c)
    probe("a c")
    use(b)
f()
""",
    "a caller stands at its call, inline caches included": """
def g():
    probe("a c")
def f():
    a = thing("a"); b = thing("b"); c = thing("c")
    [].append(g()); use(b, g)
f()
""",
}  # fmt: skip


def failures(named: str) -> list[str]:
    """What a program's probes found against what they expect; none of them run is a failure."""
    program = (Looking if named in {**ATTRIBUTES, **FORWARDED, **ITEMS} else Program)(RULES[named]).run()
    return program.failures if program.probes else ["no probe ran"]


def main() -> int:
    found = [f"{named}: {failure}" for named in RULES for failure in failures(named)]
    sys.stdout.writelines(line + "\n" for line in found or [f"{len(RULES)} rules hold"])
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
