"""Rules of liveness about what decorators hand on (`liveness_rules`): they use it as what they decorate does."""

from __future__ import annotations

TIMED = """
import functools
def timed(step):
    @functools.wraps(step)
    def wrapper(*args, **kwargs):
        found = step(*args, **kwargs)
        use(step.__name__)
        return found
    return wrapper
def plain(step):
    def wrapper(*args):
        return step(*args)
    return wrapper
"""

FORWARDED = {
    "what a decorated function is given goes when that reads it no more": TIMED
    + """
@timed
def one(p, q):
    probe("", "p")
    use(q)
    probe("", "p q")
@plain
@timed
def two(p):
    use(p)
    probe("", "p")
def run():
    one(thing("p"), thing("q"))
    p = thing("p")
    two(p)
run()
""",
    "what a decorator reads behind the call, keeps, or hands to others as well": """
def again(step):
    def wrapper(*args):
        step(*args)
        return step(*args)
    return wrapper
def first(step):
    def wrapper(*args):
        step(*args)
        use(args[0])
    return wrapper
def keeps(step):
    def wrapper(*args):
        given = args
        step(*args)
        use(given)
    return wrapper
def more(step):
    def wrapper(*args):
        step(*args, 1)
    return wrapper
turn = 0
@again
def one(p):
    global turn
    turn += 1
    if turn == 1: probe("")
@first
def two(p): probe("")
@keeps
def three(p): probe("")
for each in (one, two, three): each(thing("p"))
""",
    "methods that are decorated": TIMED
    + """
class Job:
    def __init__(self):
        self.ra = thing("a"); self.rb = thing("b"); self.rc = thing("c")
    @timed
    def one(self):
        return use(self.ra)
    @plain
    @timed
    def two(self):
        probe("c" if turn else "", "a c" if not turn else "")
        use(self.rb)
    def run(self):
        self.one()
        self.two()
turn = 0
job = Job()
probe("c")
job.run()
probe("a b c")
""",
    "decorators that use the object themselves, or give the method up": TIMED
    + """
def tells(step):
    def wrapper(*args):
        use(args)
        return step(*args)
    return wrapper
def named(step):
    def wrapper(*args):
        return step(*args) if len(args) > 0 else None
    return wrapper
def other(first):
    def wrapper(*args):
        return first(*args)
    def change(to):
        nonlocal first
        first = to
    wrapper.change = change
    return wrapper
class Job:
    def __init__(self): self.ra = thing("a"); self.rb = thing("b")
    @tells
    def one(self): return use(self.rb)
    @named
    def two(self): return use(self.rb)
    @other
    def three(self): return use(self.rb)
def one(): job = Job(); probe(""); job.one()
def two(): job = Job(); probe(""); job.two()
def three(): job = Job(); probe(""); job.three()
for each in (one, two, three): each()
""",
    "what is called is bound anew, by who made the wrapper or by somebody else": """
def late(step):
    def wrapper(*args): return step(*args)
    chosen = step
    def step(self): return use(self.ra)
    return wrapper
def lazily(step):
    def wrapper(*args): return step(*args)
    yield wrapper
    step = other
def other(self): return use(self.ra)
class Job:
    def __init__(self): self.ra = thing("a"); self.rb = thing("b")
    def step(self): return use(self.rb)
    one = late(step)
    waiting = lazily(step)
    two = next(waiting)
def first(): job = Job(); probe(""); job.one()
def second(): job = Job(); probe(""); job.two(); next(Job.waiting, None); job.two()
def main():
    def load(self): self.kept = self.ra
    def train(self): use(self.kept, self.rb)
    again = load
    def turn(*args): return again(*args)
    class Job:
        def __init__(self): self.ra = thing("a"); self.rb = thing("b")
        run = turn
    job = Job()
    probe("")
    job.run()
    again = train
    job.run()
for each in (first, second, main): each()
""",
    "a cell that is given something else": TIMED
    + """
class Job:
    def __init__(self): self.ra = thing("a"); self.rb = thing("b")
    @plain
    def one(self): return use(self.ra)
def other(self): return use(self.rb)
def run():
    job = Job()
    probe("")
    Job.one.__closure__[0].cell_contents = other
    job.one()
run()
""",
    "a text that names the arguments": """
def tells(step):
    def wrapper(*args):
        found = step(*args)
        use("{args[0].rb}")
        return found
    return wrapper
class Job:
    def __init__(self): self.ra = thing("a"); self.rb = thing("b")
    @tells
    def one(self): return use(self.ra)
def run(): job = Job(); probe(""); job.one()
run()
""",
    "arguments that are a list by then, which somebody else has": """
def listed(step):
    def wrapper(*args):
        args = [*args]
        waiting.append(lambda more=args: more)
        return step(*args)
    return wrapper
waiting = []
@listed
def one(p):
    waiting[0]().append(thing("q"))
    probe("")
    use(waiting[0]())
one(thing("p"))
""",
    "variables of its own, and functions that hand on to one another for ever": """
def own(step):
    def wrapper(*args):
        called = step
        keep = lambda: called
        return called(*args)
    return wrapper
def ring():
    def one(*args): return two(*args)
    def two(*args): return one(*args)
    return one
class Job:
    def __init__(self): self.ra = thing("a"); self.rb = thing("b")
    @own
    def one(self): return use(self.ra)
    two = ring()
def one(): job = Job(); probe(""); job.one()
def two(never=False):
    job = Job()
    probe("")
    if never: job.two()
for each in (one, two): each()
""",
    "what a function is given that a builtin calls": """
def each(*args):
    return list(map(*args))
def least(*args):
    return min(*args, key=told)
def told(p):
    probe("")
    return 1
least(thing("p"), thing("q"))
""",
}
