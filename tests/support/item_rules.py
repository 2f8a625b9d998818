"""Rules of liveness about what a dictionary has under keys: read as long as anything may read it there."""

from __future__ import annotations

ITEMS = {
    "what is under a key goes when that is read no more": """
def run():
    state = {}
    state["a"] = thing("a"); state["b"] = thing("b"); state["c"] = thing("c")
    use(state["a"])
    probe("a")
    use(state["b"])
    state["c"] = thing("d")
    probe("a b")
    use(state["c"])
    probe("a b d")
run()
""",
    "in the main module, too, and what is deleted or set again is not read": """
state = {"a": thing("a"), "b": thing("b"), "k": 1}
use(state["a"])
probe("a")
del state["a"]
while state["k"]:
    use(state["b"])
    probe("")
    state["k"] = 0
probe("b")
""",
    "whoever has the dictionary reads any key": """
def handed(): state = {"a": thing("a")}; probe(""); use(state)
def method(): state = {"a": thing("a")}; probe(""); use(state.get("a"))
def gone_through(): state = {"a": thing("a")}; probe(""); use([each for each in state.values()])
def by_name(key="a"): state = {"a": thing("a")}; probe(""); use(state[key])
def counted(): state = {"a": thing("a"), "n": 1}; probe(""); state["n"] += 1
def copied(): state = {"a": thing("a")}; other = state; probe(""); use(other["a"])
def twice(): state = {"a": thing("a")}; other = state; probe(""); use(other["b"] if "b" in other else state["a"])
def nested(): state = {"a": thing("a")}; probe(""); use((lambda: state["a"])())
def listed(): state = {"a": thing("a")}; all = [state]; probe(""); use(all[0]["a"])
def formed(): state = {"a": thing("a")}; probe(""); use("{state[a]}".format(state=state))
for each in (handed, method, gone_through, by_name, counted, copied, twice, nested, listed, formed): each()
""",
    "keys that are equal to another, and other classes": """
from collections import OrderedDict, defaultdict
class Key(str):
    def __eq__(self, other): return True
    def __hash__(self): return hash("a")
class State(dict):
    def __getitem__(self, key): return use(self.values())
class Job:
    def __init__(self): self.a = thing("a")
    def __getitem__(self, key): return use(self.a)
def one(): state = {Key("b"): thing("a")}; probe(""); use(state["a"])
def two(): state = State(b=thing("a")); probe(""); use(state["a"])
def three(): job = Job(); probe(""); use(job["b"])
def four(): state = defaultdict(list, b=thing("a")); probe(""); use(state["a"])
def five(): state = OrderedDict(b=thing("a"), a=1); probe(""); use(state["a"])
class Column:
    def __init__(self, frame): self.frame = frame
    def __hash__(self): return hash("id")
    def __eq__(self, other): return use(self.frame) is None
def six(): state = {Column(thing("a")): 1}; probe(""); use(state["id"])
def seven(): state = {Column(thing("a")): 1}; probe(""); state["id"] = 2
def eight(): job = Job(); vars(job)[Column(thing("b"))] = 1; probe(""); use(job.id)
for each in (one, two, three, four, five, six, seven, eight): each()
""",
    "what has itself under one": """
class Job:
    def __init__(self): self.ra = thing("a"); self.me = self
def one():
    state = {"a": thing("a"), "b": 1}; state["me"] = state
    probe("")
    use(state["me"]["a"])
def two():
    job = Job()
    probe("")
    use(job.me.ra)
for each in (one, two): each()
""",
    "two names that read different keys": """
def reads(other):
    probe("", "b")
    use(other["c"])
def run():
    state = {"a": thing("a"), "b": thing("b"), "c": thing("c")}
    use(state["a"])
    reads(state)
    probe("b c")
    use(state["a"])
run()
""",
}
