"""Rules of liveness about attributes: read as long as anything may read them of their object (`liveness_rules`).

Each probe names what nothing can lead to but names and attributes that are never read again.
"""

from __future__ import annotations

JOB = """
class Job:
    def __init__(self):
        self.ra = thing("a"); self.rb = thing("b"); self.rc = thing("c"); self.n = 0
    def one(self):
        return use(self.ra)
    def two(self):
        self.one()
        probe(IN_TWO)
        return use(self.rb)
"""

ATTRIBUTES = {
    "methods that are called one after the other": JOB.replace("IN_TWO", "'', 'a c'") + """
job = Job()
probe("c")
job.one()
probe("c")
job.two()
probe("a b c")
""",
    "a method reads on while it runs, and so does who has called it": JOB.replace("IN_TWO", "'', 'c'") + """
def run():
    job = Job()
    job.two()
    probe("b c")
    use(job.ra)
    probe("a b c")
run()
""",
    "an attribute that is given anew is read no more before that": """
class Job:
    def __init__(self): self.ra = thing("a"); self.rb = thing("b")
    def again(self): self.ra = thing("c")
job = Job()
probe("a")
job.again()
use(job.rb)
probe("b c")
""",
    "objects without a dictionary of their own for attributes live as a whole": """
import typing
class Pair(typing.NamedTuple):
    first: object
    second: object
class Slotted(list):
    __slots__ = ("rc",)
class Answering(list):
    @property
    def __dict__(self): return use(self)
pair = Pair(thing("a"), thing("b")); slotted = Slotted([thing("c")]); answering = Answering([thing("d")])
probe("")
use(pair.first)
probe("a b")
slotted.append(1); answering.append(1)
probe("a b c d")
""",
    "numbers are counted on": """
class Job:
    def __init__(self):
        self.ra = thing("a"); self.rb = thing("b"); self.n = 0
    def run(self, k):
        self.n += k; self.n *= 2
        probe("", "b")
        use(self.ra)
        self.n += 1
Job().run(1)
""",
    "properties, and what is cached by one": """
import functools
class Job:
    def __init__(self):
        self.ra = thing("a"); self.rb = thing("b"); self.rc = thing("c")
    @property
    def both(self):
        return use(self.ra)
    @functools.cached_property
    def kept(self):
        return use(self.rb)
    @staticmethod
    def sit():
        probe("c")
job = Job()
job.sit()
use(job.both, job.kept)
""",
    "a base class of the program's has methods, too": """
class Base:
    def __init__(self):
        self.ra = thing("a"); self.rb = thing("b")
    def base(self): return use(self.ra)
    def over(self): return use(self.ra)
class Job(Base):
    def over(self): return use(self.rb)
job = Job()
probe("")
job.over()
probe("b")
job.base()
probe("a b")
Job().over()
""",
    "who gets the object itself may read any": """
import threading
class Job:
    def __init__(self):
        self.ra = thing("a"); self.rb = thing("b")
    def run(self): return use(self.rb)
def handed(): job = Job(); probe(""); use(job)
def method(): job = Job(); probe(""); use(job.run)
def copied(): job = Job(); probe(""); other = job; job = None; probe(""); use(other, other.rb)
def nested(): job = Job(); probe(""); return [use(job.rb) for _ in range(2)], (lambda: job.rb)()
def compared(): job = Job(); probe(""); return job == 1
def listed(): job = Job(); jobs = [job]; probe(""); use(job.rb); use(jobs[0].rb)
def told(): job = Job(); probe(""); use(job.__dict__)
def asked(): job = Job(); probe(""); use(getattr(job, "rb"))
def begun(): job = Job(); worker = threading.Thread(target=job.run); probe(""); worker.start(); worker.join()
for each in (handed, method, copied, nested, compared, listed, told, asked, begun): each()
""",
    "methods that let somebody have it": """
class Job:
    def __init__(self): self.ra = thing("a"); self.rb = thing("b")
    def hand(self): return use(self)
    def close(self): return (lambda: self.rb)()
    def wait(self): yield self.rb
    def more(self, *given, last=None): return use(self.rb)
    def any(*given): return use(given[0].rb)
class Super(Job):
    def hand(self): return super().hand()
def one(): job = Job(); probe(""); job.hand()
def two(): job = Job(); probe(""); job.close()
def six(): job = Job(); probe(""); job.any()
def ten(): job = Super(); probe(""); job.hand()
def all(): job = Job(); probe("a"); job.more()
for each in (one, two, six, ten, all): each()
""",
    "methods of base classes, by super, which takes the object from the frame before 3.12": """
import sys
TELLS = sys.version_info >= (3, 12)
class Base:
    def __init__(self): self.ra = thing("a"); self.rb = thing("b"); self.rc = thing("c")
    def one(self): return use(self.ra)
    def two(self): probe("", "b c" if TELLS else ""); return use(self.ra)
    def made(self): return use(self)
class Middle(Base):
    def one(self): return use(self.rb)
class Job(Middle):
    def one(self): return super().one()
    def two(self): super().two(); use(1)
    def made(self): return super().made()
    def alone(self): return super()
    def given(self): return super(Middle, self).one()
    def both(self): super().one(); return super()
    def run(self):
        self.two()
        super().two()
def one(): job = Job(); probe("c" if TELLS else ""); job.one()
def two(): job = Job(); probe("b c" if TELLS else ""); job.two()
def made(): job = Job(); probe(""); job.made()
def alone(): job = Job(); probe(""); use(job.alone().one())
def given(): job = Job(); probe("c" if TELLS else ""); job.given()
def both(): job = Job(); probe(""); use(job.both().one())
def run(): job = Job(); probe("b c" if TELLS else ""); job.run()
for each in (one, two, made, alone, given, both, run): each()
""",
    "a function of its own that is called super": """
def super(*of): return Other()
class Other:
    def one(self): return None
class Job:
    def __init__(self): self.ra = thing("a"); self.rb = thing("b")
    def one(self): return use(self.rb)
class More(Job):
    def one(self): return super(More, self).one() or use(self.ra)
def run(): job = More(); probe(""); job.one()
run()
""",
    "who asks for the class reads none of them": """
class Job:
    def __init__(self): self.ra = thing("a"); self.rb = thing("b")
    def tell(self): return type(self).__name__, use(self.rb), f"{type(self).__qualname__}"
    def again(self): return type(self)().rb
def one(): job = Job(); probe("a"); job.tell()
def two(): job = Job(); probe("a b"); job.again()
def three(): job = Job(); probe("a b"); return type(job)
def four(): job = Job(); probe(""); return type(job), type("Made", (), {"job": job})
def five(): job = Job(); probe(""); return type(use(job))
def six(): job = Job(); probe(""); return isinstance(job, Job)
def seven(): job = Job(); probe(""); return type(job).tell(job)
for each in (one, two, three, four, five, six, seven): each()
""",
    "a function of its own of that name": """
def type(it): return use(it.ra)
class Job:
    def __init__(self): self.ra = thing("a"); self.rb = thing("b")
    def tell(self): return type(self), use(self.rb)
def one(): job = Job(); probe(""); job.tell()
def two(): job = Job(); probe(""); type(job)
for each in (one, two): each()
""",
    "a generator that waits has it": """
class Job:
    def __init__(self): self.ra = thing("a"); self.rb = thing("b")
    def each(self):
        yield 1
        probe("", "a")
        use(self.rb)
job = Job()
each = job.each()
next(each)
probe("")
list(each)
probe("a b")
""",
    "a class that answers for attributes itself": """
class Any:
    def __init__(self): self.ra = thing("a"); self.rb = thing("b")
    def __getattr__(self, name): return use(self.ra)
class All(Any):
    def __getattribute__(self, name): return object.__getattribute__(self, name)
class Set(Any):
    __getattr__ = property(lambda self: use(self.ra))
    def __setattr__(self, name, value): use(self); object.__setattr__(self, name, value)
def one(): some = Any(); probe(""); use(some.rb)
def two(): some = All(); probe(""); use(some.rb)
def six(): some = Set(); probe(""); some.rc = 1
for each in (one, two, six): each()
""",
    "a class that is given another method": """
class Job:
    def __init__(self): self.ra = thing("a"); self.rb = thing("b")
    def run(self): return use(self.rb)
job = Job()
probe("")
Job.run = lambda job: use(job.ra)
job.run()
""",
    "a class that is given one more method": """
class Job:
    def __init__(self): self.ra = thing("a"); self.rb = thing("b")
job = Job()
probe("")
Job.run = lambda job: use(job.ra)
job.run()
""",
    "a class that is given another base, or answers for attributes later": """
class Base: pass
class Job(Base):
    def __init__(self): self.ra = thing("a"); self.rb = thing("b")
class Other(Base):
    @property
    def rc(self): return use(self.ra)
job = Job()
probe("")
Job.__bases__ = (Other,)
use(job.rb, job.rc)
""",
    "a class that is given what it had nothing of, or something plain": """
class Job:
    hook = None
    def __init__(self): self.ra = thing("a"); self.rb = thing("b")
    def run(self): return self.hook and self.hook()
def one(): job = Job(); probe(""); Job.hook = lambda self: use(self.ra); job.run()
def two(): job = Job(); probe(""); Job.act = lambda self: use(self.ra); act = job.act; act()
def six(): job = Job(); probe(""); Job.total = property(lambda self: use(self.ra)); use(job.total)
for each in (one, two, six): each()
""",
    "a validator that is given the object": """
class Limited:
    def __set_name__(self, owner, name): self.name = name
    def __set__(self, one, value): use(one.ra); one.__dict__[self.name] = value
class Job:
    n = Limited()
    def __init__(self): self.ra = thing("a"); self.n = 0
class Own:
    n = 0
    def __init__(self): self.__dict__["ra"] = thing("b")
    def __setattr__(self, name, value): use(self.ra)
def one(): job = Job(); probe(""); job.n += 1
def two(): own = Own(); probe(""); own.n += 1
one(); two()
""",
    "a class whose methods are patched": """
from unittest import mock
class Job:
    def __init__(self): self.ra = thing("a"); self.rb = thing("b")
    def run(self): return use(self.rb)
job = Job()
probe("")
with mock.patch.object(Job, "run", lambda self: use(self.ra)): job.run()
""",
    "so it is where somebody does it for the program": """
from unittest.mock import patch as fake
class Job:
    def __init__(self): self.ra = thing("a"); self.rb = thing("b")
    def run(self): return use(self.rb)
job = Job()
probe("")
with fake.object(Job, "run", lambda self: use(self.ra)): job.run()
""",
    "attributes under keys that are no plain texts": """
import enum
class Stage(str, enum.Enum): RAW = "raw"
class Job:
    def __init__(self): self.__dict__.update({Stage.RAW: thing("a")})
job = Job()
probe("")
use(job.raw)
""",
    "a class that stands for another": """
class Proxy:
    def __init__(self, of): self.of = of
    @property
    def __class__(self): return type(self.of)
proxy = Proxy(thing("a"))
probe("")
use(proxy.__class__)
""",
    "somebody runs a text": """
class Job:
    def __init__(self): self.ra = thing("a"); self.rb = thing("b")
    def run(self): return use(self.rb)
def patched(): exec("Job.run = lambda job: use(job.ra)", globals())
def run():
    job = Job()
    probe("")
    patched()
    job.run()
run()
""",
    "somebody gives attributes by names that are computed": """
class Job:
    def __init__(self): self.ra = thing("a"); self.rb = thing("b")
    def run(self): return use(self.rb)
job = Job()
probe("")
setattr(Job, "run", lambda job: use(job.ra))
job.run()
""",
    "a function of the module may read it, and a text": """
class Job:
    def __init__(self, one, two): self.ra = thing(one); self.rb = thing(two)
def show(): use(job)
job = Job("a", "b"); other = Job("c", "d")
probe("c")
show(); use(job.rb, other.rb)
probe("a b c d")
text = Job("e", "f")
probe("a b c d")
use("{text}", text.rb)
""",
    "a slot, a class of somebody else's": """
import types
class Job:
    __slots__ = ("ra", "rb")
    def __init__(self): self.ra = thing("a"); self.rb = thing("b")
def one(): job = Job(); probe(""); use(job.rb)
def six(): space = types.SimpleNamespace(ra=thing("e"), rb=thing("f")); probe(""); use(space.rb)
one(); six()
""",
    "a class made of SimpleNamespace, whose dictionary is a slot": """
import types
class Conf(types.SimpleNamespace):
    def all(self): return list(self.__dict__.values())
def one(): conf = Conf(ra=thing("a")); probe(""); use(conf.all())
def two(): conf = Conf(ra=thing("a")); probe(""); use(conf.__dict__["ra"])
for each in (one, two): each()
""",
    "a function that takes the name of a builtin later": """
class Job:
    def __init__(self): self.ra = thing("a")
    def tell(self): return type(self)
def hide():
    global type
    type = lambda it: use(it.ra)
job = Job()
probe("")
hide(); job.tell()
""",
    "so does one of the module's own": """
class Job:
    def __init__(self): self.ra = thing("a")
    def tell(self): return type(self)
job = Job()
probe("")
def type(it): return use(it.ra)
job.tell()
""",
    "an attribute of a class, or a field, that is called as a builtin is": """
class Job:
    type = "batch"
    def __init__(self): self.ra = thing("a"); self.rb = thing("b")
    def tell(self): return type(self).__name__, use(self.rb)
job = Job()
probe("a")
job.tell()
""",
    "somebody gives a class an attribute by what its own class does": """
class Job:
    def __init__(self): self.ra = thing("a")
    def run(self): return 1
job = Job()
probe("")
type(Job).__setattr__(Job, "run", lambda job: use(job.ra))
job.run()
""",
    "who gives an object an attribute by what all objects do": """
class Job:
    def __init__(self): object.__setattr__(self, "ra", thing("a")); object.__setattr__(self, "rb", thing("b"))
    def run(self): return use(self.rb)
job = Job()
probe("a")
job.run()
""",
    "an error tells which object had no such attribute": """
class Job:
    def __init__(self): self.ra = thing("a"); self.rb = thing("b")
job = Job()
probe("")
try: job.missing
except AttributeError as error: use(error.obj.ra)
""",
    "it tells it by a text, too": """
class Job:
    def __init__(self): self.ra = thing("a"); self.rb = thing("b")
job = Job()
probe("")
try: job.missing
except AttributeError as error:
    match error:
        case AttributeError(obj=found): use(found.ra)
""",
    "what is cached by a property is made otherwise": """
import functools
class Job:
    def __init__(self): self.ra = thing("a"); self.rb = thing("b")
    @functools.cached_property
    def kept(self): return use(self.rb)
job = Job()
probe("")
Job.__dict__["kept"].func = lambda job: use(job.ra)
use(job.kept)
""",
    "an attribute of that name of its own": """
class Job:
    def __init__(self): self.obj = thing("a"); self.ra = thing("b")
    def run(self): return use(self.obj)
job = Job()
probe("b")
job.run()
""",
    "a module that somebody loads by its file": """
class Job:
    def __init__(self): self.ra = thing("a")
    def run(self): return 1
job = Job()
probe("")
def load(spec, module): spec.loader.exec_module(module)
job.run()
""",
    "a class method that calls the class self": """
class Job:
    hook = None
    def __init__(self): self.ra = thing("a")
    def run(self): return self.hook and self.hook()
    @classmethod
    def install(self): self.hook = lambda job: use(job.ra)
class Other:
    def __init__(self): self.ra = thing("b"); self.rb = thing("c")
    def run(self): return use(self.rb)
    @classmethod
    def make(cls): return cls()
job = Job(); other = Other()
probe("b")
Job.install(); job.run(); other.run()
""",
    "a class that is given a finaliser": """
class Job:
    def __init__(self): self.ra = thing("a")
def run():
    job = Job()
    probe("")
    Job.__del__ = lambda job: use(job.ra)
run()
""",
    "a field of a named tuple, of a tuple with no place for attributes": """
from typing import NamedTuple
class Inputs(NamedTuple):
    ra: object
    rb: object
class Pair(tuple):
    __slots__ = ()
    first = property(lambda self: self[0])
def run(inputs, pair): probe("a b c d"); use(inputs.rb, pair.first)
inputs = Inputs(thing("a"), thing("b")); pair = Pair((thing("c"), thing("d")))
probe("")
use(inputs.ra, pair.first); run(Inputs(thing("e"), thing("f")), Pair((thing("g"), thing("h"))))
probe("a b c d")
""",
    "a protocol, whose methods others have": """
from typing import Protocol, runtime_checkable
@runtime_checkable
class Step(Protocol):
    ra: object
    def run(self): ...
    def show(self): return use(self.ra)
class Job(Step):
    def __init__(self): self.ra = thing("a"); self.rb = thing("b"); self.rc = thing("c")
    def run(self): probe("", "c"); return use(self.rb)
job = Job()
probe("c")
job.run()
probe("b c")
job.show()
probe("a b c")
""",
    "the object of an attribute is another's matter": """
class Conf:
    def __init__(self): self.ra = thing("a"); self.rb = thing("b")
class Job:
    def __init__(self): self.conf = Conf(); self.rc = thing("c")
    def run(self): return use(self.conf.ra)
job = Job()
probe("c")
job.run()
probe("a b c")
""",
    "attributes change places": """
class Job:
    def __init__(self): self.ra = thing("a"); self.rb = thing("b"); self.rc = thing("c")
    def turn(self):
        for k in range(3):
            probe("", "c")
            self.ra, self.rb = self.rb, self.ra
            use(self.ra)
Job().turn()
""",
}  # fmt: skip
