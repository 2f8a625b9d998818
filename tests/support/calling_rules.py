"""Rules of liveness about what functions read: alive while anything may call these (`liveness_rules`)."""

from __future__ import annotations

CALLED = {
    "what a function reads goes when nothing names the function": """
def one():
    return use(ra), two()
def two():
    return use(rb)
ra = thing("a"); rb = thing("b")
probe("")
one()
probe("a")
two()
probe("a b")
""",
    "a function that reads itself, and one that nothing ever called": """
def one(n=0):
    return n and one(n - 1), use(ra)
def never():
    return use(rb)
ra = thing("a"); rb = thing("b")
probe("b")
one(2)
probe("a b")
""",
    "a function that runs reads on": """
def one():
    probe("b")
    use(ra)
ra = thing("a"); rb = thing("b")
def two():
    return use(rb)
two()
one()
""",
    "a function that is made again reads again": """
ra = thing("a")
for turn in range(2):
    def one():
        return use(ra)
    one()
    probe("")
probe("a")
""",
    "a function of another name, in a list, in a default, in a decorator, known weakly, of a generator that waits": """
import functools, weakref
def one(): return use(ra)
def two(): return use(rb)
def three(): return use(rc)
def four(): return use(rd)
def five(): return use(re)
def six():
    yield 1
    use(rf)
def keep(function):
    @functools.wraps(function)
    def called(): return function()
    return called
@keep
def seven(): return use(rg)
def outer(call=three): return call
def eight():
    return lambda: use(rh)
ra = thing("a"); rb = thing("b"); rc = thing("c"); rd = thing("d"); re = thing("e"); rf = thing("f"); rg = thing("g")
rh = thing("h"); ri = thing("i")
other = one; listed = [two]; known = weakref.ref(four); part = functools.partial(five); waiting = six(); next(waiting)
inner = eight()
class K:
    def m(self): return use(ri)
probe("a")
use(listed, outer, known, part, waiting, seven, inner)
""",
    "what functions within a function read of that one is no global": """
class K:
    def m(self, ra):
        return [ra for _ in range(2)], lambda: use(ra), (use(ra, one) for one in range(2))
def two(rb):
    def within():
        return (lambda: rb), use(rc)
    return within
listed = [two]
ra = thing("a"); rb = thing("b"); rc = thing("c")
probe("a b")
use(K, listed)
""",
    "a function that another name has": """
def one(): return use(ra)
ra = thing("a")
other = one
probe("")
other()
probe("a")
""",
    "what libraries, and Python itself, call by name": """
def load_tests(): return use(ra)
def tearDownModule(): return use(rb)
def other(): return use(rc)
def main(): return use(rd)
def __annotate__(form): return use(re)
ra = thing("a"); rb = thing("b"); rc = thing("c"); rd = thing("d"); re = thing("e")
probe("c")
""",
    "a function that a text calls": """
def one():
    \"\"\"Of rb (a thing); not two ().\"\"\"
    return use(ra)
def two(): return use(rb)
ra = thing("a"); rb = thing("b")
probe("b")
use("one()")
""",
    "a function that is read again by the name that was pickled": """
import pickle
def one(): return use(ra)
ra = thing("a"); rb = thing("b")
text = pickle.dumps(one)
probe("b")
pickle.loads(text)()
""",
    "a function that tests are asked for by its name": """
import unittest
def suite(): return use(ra)
ra = thing("a"); rb = thing("b")
probe("b")
if use():
    unittest.main(defaultTest="suite")
""",
    "a function that has gone through a queue of processes": """
import multiprocessing
def one(): return use(ra)
ra = thing("a"); rb = thing("b")
queue = multiprocessing.SimpleQueue()
queue.put(one)
probe("b")
queue.get()()
""",
    "a pool of threads pickles nothing": """
from multiprocessing.pool import ThreadPool
def one(): return use(ra)
ra = thing("a")
one()
probe("a")
use(ThreadPool)
""",
    "a function that a scheduler knows by its name in a database": """
def start():
    from apscheduler.schedulers.background import BackgroundScheduler
    return BackgroundScheduler()
def one(): return use(ra)
ra = thing("a"); rb = thing("b")
use(one)
probe("b")
""",
    "a thread that has been begun with it": """
import threading
go = threading.Event()
def work():
    go.wait()
    use(ra)
ra = thing("a")
worker = threading.Thread(target=work); probe(""); worker.start()
probe("")
go.set(); worker.join()
""",
}  # fmt: skip
