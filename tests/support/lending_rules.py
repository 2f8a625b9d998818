"""Rules of liveness about what no name has in hand, but the stack, or whoever is called (`liveness_rules`).

Up to Python 3.13 these are counted references; since 3.14 they are lent (`reach/liveness/borrowing.py`).
"""

from __future__ import annotations

LENT = {
    "what is used in the middle of a statement lives until its end": """
def f():
    a = thing("a"); b = thing("b"); c = thing("c"); d = thing("d"); e = thing("e"); box = {}
    use(a, probe(""))
    probe("a")
    [b, use(probe("a"))]
    (c, probe("a b"))
    d is probe("a b c") is None
    box[probe("a b c d")] = e
    box.clear()
    probe("a b c d e")
f()
""",
    "two of one statement": """
def f():
    a = thing("a"); b = thing("b"); c = thing("c")
    use(a, use(b, probe("")), [probe("b")], c)
    probe("a b c")
    a, b = thing("d"), thing("e")
    a, b = (b, a, probe("c"))[:2]
    probe("c e")
    use(b)
    probe("c d e")
f()
""",
    "what a caller holds lives when the callee has read it for the last time": """
def g(p, *rest, k=None, **more):
    use(p, rest, k, more)
    probe("")
def f():
    a = thing("a"); b = thing("b"); c = thing("c"); d = thing("d")
    g(a, b, k=c, other=d)
    use(a, b, c, d)
f()
""",
    "what a callee copies of what its caller holds takes nothing away": """
def g(p, q):
    x = p
    y, z = p, q
    use(x)
    probe("")
    del p
    probe("")
    use(y, z)
    probe("")
    w = z if y else q
    use(w)
    probe("")
    while (v := q) is not None:
        use(v)
        q = probe("", "b")
def f():
    a = thing("a"); b = thing("b")
    g(a, b)
    use(a)
    probe("a b")
f()
""",
    "what a callee will read lives when the caller has read it for the last time": """
def g(p, k):
    probe("")
    [use(k), probe("", "b")]
    use(p)
def f():
    a = thing("a"); b = thing("b")
    g(a, k=b)
    probe("a b")
f()
""",
    "a method that is called of what nobody else has": """
class K:
    def m(self, held):
        probe("", "b")
        use(self.inner)
        return probe("", "b")
def f():
    a = K(); b = thing("b")
    a.inner = thing("a")
    return a.m(b)
f()
""",
}  # fmt: skip
