"""Random programs, as text: every read of a variable passes through `r`, and every binding is of a new thing.

Responsible for: all forms of Python that bind, read or delete names, nested at random, repeatable by a seed.
Refuses to know: what is done with a program. Invariant: one thing is bound to one name, once: `x = new(r(y))`; but for
what is shared before, which is handed on as it is.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

LOCALS = ("a", "b", "c", "d", "e")
GLOBALS = ("ga", "gb", "gc", "gd", "ge")
DEPTH_MAX = 3


@dataclass(frozen=True)
class Scope:
    """Where a statement stands, and what it may do there."""

    names: tuple[str, ...]
    outer: tuple[str, ...] = ()  # may be read, not bound
    depth: int = 0
    is_function: bool = False
    is_async: bool = False
    is_generator: bool = False
    in_loop: bool = False

    def deeper(self, in_loop: bool | None = None) -> Scope:
        return replace(self, depth=self.depth + 1, in_loop=self.in_loop if in_loop is None else in_loop)


@dataclass
class Writer:
    """Writes one program."""

    chance: random.Random
    made: int = 0
    favoured: str = ""  #: A form that is every second one.
    forms: list[Callable[[Scope], Iterator[str]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.forms = [
            self.assign, self.assign, self.assign, self.pair, self.augment, self.probe, self.probe, self.probe,
            self.delete, self.branch, self.loop_while, self.loop_for, self.guarded, self.grouped, self.context,
            self.match, self.function, self.function, self.generator, self.coroutine, self.comprehension, self.klass,
            self.thread, self.starred, self.walrus, self.leave, self.conditional, self.text, self.lambdas,
            self.global_written, self.subscripts, self.handed, self.boxed, self.boxed_in_objects,
            self.defined, self.by_attributes, self.by_items,
        ]  # fmt: skip
        self.forms += [getattr(self, self.favoured)] * len(self.forms) if self.favoured else []

    # --- parts

    def program(self) -> str:
        scope = Scope(GLOBALS)
        lines = list(self.bound(scope))
        for _ in range(self.chance.randint(4, 8)):
            lines += self.survived(scope) if self.chance.random() < 0.7 else self.block(scope, 1)
        return "\n".join(lines) + "\n"

    def survived(self, scope: Scope) -> list[str]:
        """Whatever is raised there, the program goes on, with names for what may have been lost."""
        lines = ["try:", *self.inner(scope), "except Exception:", "    probe()"]
        return [*lines, *indented(list(self.bound(scope)))]

    def bound(self, scope: Scope) -> Iterator[str]:
        for name in scope.names:
            if self.chance.random() < 0.98:
                yield f"{name} = new()"

    def block(self, scope: Scope, count: int | None = None) -> list[str]:
        lines: list[str] = []
        for _ in range(count or self.chance.randint(1, 3)):
            lines.extend(self.statement(scope))
        return lines

    def inner(self, scope: Scope, in_loop: bool | None = None) -> list[str]:
        return indented(self.block(scope.deeper(in_loop)))

    def statement(self, scope: Scope) -> Iterator[str]:
        if scope.depth >= DEPTH_MAX:
            return self.chance.choice([self.assign, self.probe, self.augment, self.text])(scope)
        return self.chance.choice(self.forms)(scope)

    def fresh(self, stem: str) -> str:
        self.made += 1
        return f"{stem}_{self.made}"

    def target(self, scope: Scope) -> str:
        return self.chance.choice(scope.names)

    def read(self, scope: Scope) -> str:
        everything = scope.names * 3 + scope.outer
        return f"r({self.chance.choice(everything)})"

    def reads(self, scope: Scope) -> str:
        return ", ".join(self.read(scope) for _ in range(self.chance.randint(0, 3)))

    # --- simple statements

    def assign(self, scope: Scope) -> Iterator[str]:
        yield f"{self.target(scope)} = new({self.reads(scope)})"

    def pair(self, scope: Scope) -> Iterator[str]:
        if self.chance.random() < 0.5:
            first, rest = self.chance.sample(scope.names, 2)
            yield f"{first}, *{rest} = new(), new({self.reads(scope)}); {rest} = new({rest})"
        yield f"{self.target(scope)}, {self.target(scope)} = new({self.read(scope)}), new({self.reads(scope)})"

    def augment(self, scope: Scope) -> Iterator[str]:
        yield f"{self.target(scope)} += new({self.reads(scope)})"

    def probe(self, scope: Scope) -> Iterator[str]:
        yield self.chance.choice(["probe()", f"probe({self.reads(scope)})", "new(probe())"])

    def delete(self, scope: Scope) -> Iterator[str]:
        name = self.target(scope)
        yield f"del {name}"
        yield "probe()"
        if self.chance.random() < 0.95:
            yield f"{name} = new()"

    def conditional(self, scope: Scope) -> Iterator[str]:
        form = self.chance.choice(["{} if chance() else {}", "chance() and {} or {}", "chance() < 1 < new({}, {})"])
        yield f"{self.target(scope)} = new({form.format(self.read(scope), self.read(scope))})"

    def text(self, scope: Scope) -> Iterator[str]:
        yield f"{self.target(scope)} = new(f'{{{self.read(scope)}!r}} {{probe()}} {{{self.read(scope)}}}')"

    def subscripts(self, scope: Scope) -> Iterator[str]:
        yield f"box = [{self.read(scope)}, {self.read(scope)}]"
        yield f"box[0:1] = [{self.read(scope)}]"
        yield f"{self.target(scope)} = new(box[0:1], probe(), {self.read(scope)})"
        yield "del box"

    def walrus(self, scope: Scope) -> Iterator[str]:
        yield f"if chance({self.target(scope)} := new({self.reads(scope)})):"
        yield from self.inner(scope)

    def leave(self, scope: Scope) -> Iterator[str]:
        forms = ["boom()", "pass"]
        if scope.in_loop:
            forms += ["break", "continue"] * 2
        if scope.is_function:
            forms.append("return" if scope.is_generator else f"return new({self.reads(scope)})")
        yield f"if chance(): {self.chance.choice(forms)}"

    def starred(self, scope: Scope) -> Iterator[str]:
        yield f"called(*things({self.reads(scope)}), probe(), **{{'k': {self.read(scope)}}})"

    # --- compound statements

    def branch(self, scope: Scope) -> Iterator[str]:
        yield f"if chance({self.read(scope)}):"
        yield from self.inner(scope)
        if self.chance.random() < 0.4:
            yield f"elif chance() and {self.read(scope)}:"
            yield from self.inner(scope)
        if self.chance.random() < 0.6:
            yield "else:"
            yield from self.inner(scope)

    def loop_while(self, scope: Scope) -> Iterator[str]:
        budget = self.fresh("budget")
        yield f"{budget} = rounds({self.reads(scope)})"
        yield f"while next({budget}, None)" + (f" and {self.read(scope)}:" if self.chance.random() < 0.3 else ":")
        yield from self.inner(scope, in_loop=True)
        if self.chance.random() < 0.3:
            yield "else:"
            yield from self.inner(scope)

    def loop_for(self, scope: Scope) -> Iterator[str]:
        prefix = "async " if scope.is_async and self.chance.random() < 0.5 else ""
        target = self.target(scope) if self.chance.random() < 0.7 else f"{scope.names[0]}, {scope.names[1]}"
        source = "things" if "," not in target else "pairs"
        yield f"{prefix}for {target} in {source}({self.reads(scope)}):"
        yield from self.inner(scope, in_loop=True)
        if self.chance.random() < 0.3:
            yield "else:"
            yield from self.inner(scope)

    def guarded(self, scope: Scope) -> Iterator[str]:
        yield "try:"
        yield from self.inner(scope)
        if self.chance.random() < 0.6:
            yield "    boom()"
        handles = self.chance.random() < 0.8
        if handles:
            name = self.target(scope)
            yield f"except Boom as {name}:" if self.chance.random() < 0.6 else "except (Boom, NameError):"
            yield from self.inner(scope)
            if self.chance.random() < 0.8:
                yield f"    {name} = None; {name} = new()"
            if self.chance.random() < 0.3:
                yield "else:"
                yield from self.inner(scope)
        if not handles or self.chance.random() < 0.4:
            yield "finally:"
            yield from self.inner(scope)

    def grouped(self, scope: Scope) -> Iterator[str]:
        yield "try:"
        yield from self.inner(scope)
        yield "    boom()"
        yield f"except* Boom as {self.target(scope)}:"
        yield from self.inner(replace(scope, is_function=False), in_loop=False)

    def context(self, scope: Scope) -> Iterator[str]:
        prefix = "async " if scope.is_async and self.chance.random() < 0.5 else ""
        second = f", new() as {self.target(scope)}" if self.chance.random() < 0.3 else ""
        yield f"{prefix}with new({self.reads(scope)}) as {self.target(scope)}{second}:"
        yield from self.inner(scope)

    def match(self, scope: Scope) -> Iterator[str]:
        yield f"match shape({self.reads(scope)}):"
        cases = ["[{0}, {1}]", "{{'k': {0}}}", "Thing() as {0}", "[{0}, *_] if {2}", "Thing(inner={0})"]
        for case in self.chance.sample(cases, 3):
            first, second = self.chance.sample(scope.names, 2)
            yield f"    case {case.format(first, second, self.read(scope))}:"
            yield from indented(self.inner(scope))
        yield "    case _:"
        yield from indented(self.inner(scope))

    # --- code within code

    def function(self, scope: Scope, prefix: str = "", called: str = "{0}({1})") -> Iterator[str]:
        name = self.fresh("f")
        chosen = self.chance.sample(LOCALS, 4)
        parameters, own, caught = chosen[:2], chosen[:3], (*scope.names, *scope.outer)
        within = Scope(
            tuple(own),
            tuple(outer for outer in caught if outer not in own),
            scope.depth + 1,
            is_function=True,
            is_async=bool(prefix),
        )
        yield f"{prefix}def {name}({parameters[0]}, {parameters[1]}=None, *rest, **more):"
        lines = [
            *self.rebinding(scope, own),
            f"{parameters[1]} = new()",
            *self.bound(replace(within, names=tuple(own[2:]))),
        ]
        lines += self.block(within, self.chance.randint(2, 4))
        yield from indented([*lines, f"return new({self.reads(within)})"])
        if self.chance.random() < 0.3:
            yield self.chance.choice(["{0} = [{0}]", "held_{0} = {0}; {0} = [held_{0}]"]).format(name)
            name += "[0]"
        for _ in range(self.chance.randint(1, 2)):
            yield from self.statement(scope) if scope.depth < 2 else ()
            yield f"{self.target(scope)} = new({called.format(name, f'new({self.reads(scope)})')})"

    def rebinding(self, scope: Scope, own: list[str]) -> list[str]:
        """A variable of the enclosing function that the inner one binds anew."""
        outer = [name for name in scope.names if name not in own and scope.is_function]
        if not outer or self.chance.random() < 0.6:
            return []
        return [f"nonlocal {outer[0]}", f"{outer[0]} = new()"]

    def coroutine(self, scope: Scope) -> Iterator[str]:
        called = "await {0}({1})" if scope.is_async else "driven({0}({1}))"
        yield from self.function(scope, "async ", called)

    def thread(self, scope: Scope) -> Iterator[str]:
        yield from self.function(scope, called="threaded({0}, {1})")

    def generator(self, scope: Scope) -> Iterator[str]:
        name = self.fresh("gen")
        own = tuple(self.chance.sample(LOCALS, 3))
        outer = tuple(name for name in (*scope.names, *scope.outer) if name not in own)
        within = Scope(own, outer, scope.depth + 1, is_function=True, is_generator=True)
        yield f"def {name}({own[0]}):"
        lines = list(self.bound(replace(within, names=own[1:])))
        for _ in range(self.chance.randint(1, 3)):
            lines += [*self.block(within), f"yield new({self.reads(within)})"]
            if self.chance.random() < 0.2:
                lines.append("yield from things()")
        yield from indented(lines)
        yield f"for {self.target(scope)} in {name}(new({self.reads(scope)})):"
        yield from self.inner(scope, in_loop=True)

    def lambdas(self, scope: Scope) -> Iterator[str]:
        name = self.fresh("l")
        yield f"{name} = lambda {scope.names[0]}=new(): new({self.read(scope)}, probe(), {self.read(scope)})"
        yield from self.statement(scope)
        yield f"{self.target(scope)} = {name}()"

    def comprehension(self, scope: Scope) -> Iterator[str]:
        form = self.chance.choice([
            "[new({read}, probe()) for {name} in things({reads}) if {inner}]",
            "*(new({read}, probe()) for {name} in things({reads}))",
            "{{{inner}: probe() for {name} in things({reads})}}",
            "{{{inner} for {name} in things({reads}) for k in things({read})}}",
            "[[{inner} for k in things({read})] for {name} in things({reads})]",
            "[(lambda: r({name}))() for {name} in things({reads}) if probe() is None]",
            "[new({read}, probe()) for {name} in (things({reads}) if chance() else things())]",
            "[probe() or ({other} := new({read})) for {name} in things({reads})]",
            "[(lambda: {read}) for {name} in things()][-1:] or probe()",
            "list(new({read}, probe()) for {name} in things({reads}))",
            "any(new({inner}, {read}) is probe() for {name} in things())",
            "next(new({read}, probe()) for {name} in things(new()))",
            "iter(new({read}, probe()) for {name} in things(new()))",
        ])  # fmt: skip
        name = self.chance.choice(scope.names)
        other = self.chance.choice([one for one in scope.names if one != name])
        text = form.format(name=name, other=other, read=self.read(scope), reads=self.reads(scope), inner=f"r({name})")
        yield f"{self.target(scope)} = new({text})"

    def klass(self, scope: Scope) -> Iterator[str]:
        name = self.fresh("K")
        own = tuple(self.chance.sample(LOCALS, 2))
        outer = tuple(name for name in (*scope.names, *scope.outer) if name not in own)
        within = Scope(own, outer, scope.depth + 2, is_function=True)
        yield f"class {name}(Thing):"
        body = [f"x = {self.read(scope)}", "probe()", f"y = new({self.reads(scope)})"]
        method = [*self.bound(within), *self.block(within), "return super().chance()"]
        yield from indented([*body, f"def chance(self, {own[0]}=None):", *indented(method)])
        yield from self.statement(scope)
        yield f"{self.target(scope)} = {name}(); {name}().chance()"

    def handed(self, scope: Scope) -> Iterator[str]:
        """Things that the caller's names hold are the callee's arguments, and lie on the stack meanwhile."""
        name = self.fresh("h")
        one, two = self.chance.sample(scope.names, 2)
        yield f"share({one}, {two})"
        if self.chance.random() < 0.5:
            decorator = self.fresh("deco")
            yield from self.decorator(decorator, is_named=True)
            yield f"@{decorator}"
        yield f"def {name}(p, q, *rest, **more):"
        lines = [
            "r(p)", "probe()", "r(q)", "[q, p, probe()]", "r(p if rest else q)", "p = probe()", "called(q, probe(), p)",
            "x = p; r(x); probe()", "x, y = q, p; r(y); probe(); r(x)", "x = q if rest else p; probe()",
        ]  # fmt: skip
        yield from indented(self.chance.choices(lines, k=self.chance.randint(2, 5)))
        calls = [
            "{0}({1}, {2})", "{0}({1}, q={2}, k={1})", "called({0}({2}, {1}, {1}), {1}, probe())",
            "called({1}, probe(), {2})", "called({1} is {0}({1}, {2}) is {2})", "called([{1}, {0}({1}, {2}), {2}])",
            "called(*[{1}], {0}({2}, {2}))",
        ]  # fmt: skip
        for call in self.chance.sample(calls, 2):
            yield call.format(name, one, two)
        yield "probe()"

    def boxed(self, scope: Scope) -> Iterator[str]:
        """Things lie in containers that a name holds, and are met again through that alone."""
        box, (one, two) = self.fresh("box"), self.chance.sample(scope.names, 2)
        holder = self.chance.choice([
            "[{0}, {1}]", "({0}, [{1}])", "{{'k': {0}, {1}: 1}}", "{{{0}, {1}}}", "Box({0}, [{1}])",
            "[Box({0}, 1), {1}, {1}]", "[{0} for _ in things(new())] + [{1}]", "dict(k=Box([{0}]), j={1})",
            "Mapped(k={0}, j=[{1}])", "Pair({0}, [{1}])", "deque([{0}, {1}])", "defaultdict(list, k=[{0}], j={1})",
            "OrderedDict(k={0}, j=[{1}])", "Space(k={0}, j={1})", "sharing(Box({0}, {1}))", "ring([{0}, {1}])",
        ])  # fmt: skip
        yield f"share({one}, {two})"
        yield f"{box} = {holder.format(one, two)}"
        yield f"{one} = new(); {two} = new()"
        yield "probe()"
        yield from self.statement(scope) if scope.depth < DEPTH_MAX else ()
        uses = [
            "r(first({0}))", "for {1} in flat({0}): r({1}); probe(); {1} = new()", "probe()", "{0} = None; probe()",
            "other = [{0}]; probe(); r(first(other))", "other = ({0}, {0}); {0} = probe(); r(first(other))",
            "(lambda: r(first({0})))()", "called(probe(), *flat({0})); probe()",
            "[(r({1}), probe()) for {1} in flat({0})]", "{1} = first({0}); {0} = probe(); r({1}); {1} = new()",
            "{0} = [probe()] + flat({0}); r(first({0}))",
            "seen = view({0}); {0} = probe(); [r({1}) for {1} in flat(seen)]",
            "known = weak({0}); probe(); r(first(known()))", "keep = partial(first, {0}); {0} = probe(); r(keep())",
            "known = weak({0}); other = probe(); other = known(); {0} = probe(); r(first(other))",
            "one_by_one = (one for one in flat({0})); {0} = probe(); r(next(one_by_one, None)); probe()",
            "keep = lambda box={0}: first(box); {0} = probe(); r(keep())",
            "other = flat({0}); {0} = other.pop(); probe(); r({0}); other = probe()",
            "deep = dict(k=dict(k={0})); {0} = probe(); r(first(deep['k']['k'])); probe()",
            "seq = (*flat({0}),); {0} = probe(); called(*seq, probe()); seq = probe()",
            "r((lambda *args: probe() or args[0])(*flat({0}))); probe()",
            "(lambda *all: r(first(all)))(*flat({0}), probe())",
            "{0} = min(flat({0}), key=lambda one: probe() or 0); r({0})",
            "r(sorted(flat({0}), key=lambda one: probe() or 0)[0])",
            "[r(one) for one in map(lambda one: (probe(), one)[1], flat({0}))]",
            "sum(bool(r(one)) for one in flat({0}) if not probe())",
            "r(first(threaded(lambda box: probe() or box, {0})))", "r(first(driven((lambda box: coro(box))({0}))))",
        ]  # fmt: skip
        yield from (use.format(box, one) for use in self.chance.sample(uses, self.chance.randint(0, 2)))
        yield "probe()"

    def boxed_in_objects(self, scope: Scope) -> Iterator[str]:
        """Objects of a class of the program's, whose methods read their attributes."""
        kind, box, (one, two) = self.fresh("K"), self.fresh("box"), self.chance.sample(scope.names, 2)
        methods = [
            "def __init__(self, one, two):", "    self.one, self.two = one, [two]",
            "def go(self):", "    probe()", "    held = self.two", "    self = probe()", "    r(held[0])",
            "def give(self, how):", "    return how(self.one)",
            "def step(self, more):", "    for one in [self.one, *self.two]:", "        probe()",
            "        self = more = None", "        r(one)",
        ]  # fmt: skip
        yield f"class {kind}:"
        yield from indented(methods)
        yield f"share({one}, {two})"
        yield f"{box} = {kind}({one}, {two})"
        yield f"{one} = new(); {two} = new()"
        yield "probe()"
        yield from self.statement(scope) if scope.depth < DEPTH_MAX else ()
        uses = [
            "{0}.go()", "r({0}.give(lambda one: probe() or one))", "{0}.step(probe())",
            "[one.go() for one in [{0}, {0}]]",
            "{0}.one, {1} = {0}.two[0], {0}.one; probe(); r({1}); {1} = new()", "threaded(lambda box: box.go(), {0})",
            "{0}.two[:] = [{0}.one]; {0}.one = probe(); {0}.go(); {0}.one = {0}.two[0]", "probe()",
        ]  # fmt: skip
        last = [
            "{0}, other = probe(), {0}.two; r(first(other))", "go = {0}.go; {0} = probe(); go()",
            "call = partial({0}.give, r); {0} = probe(); call()", "known = weak({0}); probe(); known().go()",
            "{0} = [{0}, probe()]; {0}.pop(0).go()", "probe()",
        ]  # fmt: skip
        yield from (use.format(box, one) for use in self.chance.sample(uses, self.chance.randint(0, 2)))
        yield self.chance.choice(last).format(box, one)
        yield "probe()"

    def by_attributes(self, scope: Scope) -> Iterator[str]:
        """An object of which names use attributes and methods alone, or, every other time, all of it after all."""
        kind, box, one = self.fresh("K"), self.fresh("box"), self.chance.choice(scope.names)
        is_plain, decorator = self.chance.random() < 0.5, self.fresh("deco")
        yield from self.decorator(decorator, is_plain)
        yield f"class {kind}:"
        yield from indented(list(self.members(is_plain, decorator)))
        base = kind
        if self.chance.random() < 0.4:
            kind = self.fresh("K")
            yield f"class {kind}({base}):"
            yield from indented(list(self.overriding(is_plain)))
        yield f"{box} = {kind}()"
        plain = [
            "{0}.m0()", "{0}.m1()", "{0}.m2()", "{0}.m3()", "r({0}.one)", "r({0}.two)", "{0}.six = new()",
            "r({0}.held)", "{0}.two += probe()", "{0}.one, {0}.six = {0}.six, {0}.one", "{0}.sit()",
            "probe()", "while chance():\n    {0}.m0(); probe()\n    {0}.one = new()", "probe()",
            "del {0}.six; probe(); {0}.six = new()",
            "if chance():\n    {0}.m1()\nelse:\n    r({0}.one)", "{1} = {0}.one; probe(); r({1}); {1} = new()",
            "for k in range(2):\n    probe(); {0}.m3()", "{0}.m0 = lambda: probe(); {0}.m0()",
        ]  # fmt: skip
        wild = [
            "threaded(lambda box: box.m2(), {0})", "go = {0}.m1; probe(); go(); go = probe()", "{2}.m1 = {2}.m2",
            "{2}.held = property(lambda box: r(box.six)); probe(); r({0}.held)", "r(getattr({0}, 'eno'[::-1]))",
            "def more(box): return r(box.six)\n{2}.more = more; probe(); {0}.more()", "r({0}.__dict__['one'])",
            "{0} = [{0}]; probe(); {0} = {0}.pop()", "{2}.m2 = lambda box: r(box.one)", "r({0}.known)",
            "other = {0}; {0} = {2}(); probe(); r(other.two); other = probe()",
            "go = {0}.m2; probe(); r(go.__self__.six); go = probe()",
        ]  # fmt: skip
        for use in self.chance.choices(plain if is_plain else plain + wild * 2, k=self.chance.randint(2, 6)):
            yield from use.format(box, one, self.chance.choice([kind, base])).split("\n")
            yield "probe()"
        yield from self.statement(scope) if scope.depth < DEPTH_MAX - 1 else ()
        last = ["{0}.m0()", "r({0}.six)", "{0} = probe()", "probe()", *([] if is_plain else ["flat({0})"])]
        yield self.chance.choice(last).format(box)
        yield "probe()"

    def by_items(self, scope: Scope) -> Iterator[str]:
        """A dictionary of which names use what is under keys alone, or, every other time, all of it after all."""
        state, one = self.fresh("state"), self.chance.choice(scope.names)
        is_plain = self.chance.random() < 0.5
        begins = ["{0} = {{}}", "{0} = {{'two': new(), 'n': 1}}", "{0} = dict(two=new())"]
        yield self.chance.choice(begins).format(state)
        yield f"{state}['one'] = new(); {state}['two'] = new(); {state}['six'] = new()"
        plain = [
            "r({0}['one'])", "r({0}['two'])", "r({0}['six'])", "{0}['one'] = new()", "probe()",
            "{0}['two'] = new(r({0}['six']))", "if chance(): r({0}['six'])", "{0}['two'] = probe()",
            "for k in range(2):\n    probe(); r({0}['one'])", "called({0}['one'], probe())",
            "{0}['one'], {0}['six'] = {0}['six'], {0}['one']", "{1} = {0}['two']; {1} = new()",
            "try:\n    boom(); r({0}['one'])\nexcept Boom:\n    probe(); r({0}['two'])\nfinally:\n    r({0}['six'])",
            "while chance():\n    {0}['six'] = new(r({0}['one'])); probe()",
            "del {0}['one']; probe(); {0}['one'] = new()",
        ]  # fmt: skip
        wild = [
            "key = 'two'; probe(); r({0}[key])", "r({0}.get('six'))", "[r(each) for each in flat({0}) if not probe()]",
            "other = {0}; {0} = probe(); r(other['two']); {0} = other", "(lambda: r({0}['six']))()",
            "{0} = [{0}]; probe(); {0} = {0}.pop()", "wait = iter({0}.values()); probe(); r(*[next(wait)])",
            "threaded(lambda it: r(it['two']), {0})", "[r({0}['one']) for k in range(2) if not probe()]",
            "called({0}, probe())", "{0}['me'] = {0}; probe(); r({0}['me']['six']); del {0}['me']", "r(first({0}))",
        ]  # fmt: skip
        for use in self.chance.choices(plain if is_plain else plain + wild, k=self.chance.randint(2, 7)):
            yield from use.format(state, one).split("\n")
            yield "probe()"
        yield from self.statement(scope) if scope.depth < DEPTH_MAX - 1 else ()
        last = ["r({0}['six'])", "{0} = probe()", "probe()", "r({0}['one'])", "flat({0})"]
        yield self.chance.choice(last).format(state)
        yield "probe()"

    def decorator(self, name: str, is_plain: bool = False, is_named: bool = False) -> Iterator[str]:
        """It hands on what it is given, or does something else with it as well. `is_named`: by names, too."""
        plain = ["return step(*given)", "found = step(*given); probe(); return found", "probe(); return step(*given)"]
        wild = [
            "step(*given); probe(); return step(*given)", "step(*given); probe(); return one_of(given)",
            "here = given; step(*given); probe(); return one_of(here)", "return step(given[0], *given[1:])",
            "wait = iter(given); step(*given); probe(); return one_of([*wait])", "return step(*given, *[])",
            "for each in given: probe(); step(*given)", "given = [*given]; probe(); return step(*given)",
            "nonlocal step; step(*given); step = lambda box, *more, **named: one_of([box])",
            "def call(): return step(*given)\nreturn call()",
            "try:\n    return step(*given)\nfinally:\n    probe(); one_of(given)",
            "step(*given); return max(*given, given, key=lambda one: probe() or 0)",
        ]  # fmt: skip
        chosen = self.chance.choice(plain if is_plain else plain * 3 + wild)
        if is_named or self.chance.random() < 0.5:
            chosen = chosen.replace("step(*given)", "step(*given, **more)")
        yield f"def {name}(step):"
        read = self.chance.choice(["one", "two", "six"])
        yield f"    def one_of(these): return new(r(getattr(these[0], '{read}', these[0])))"
        yield "    def wrapper(*given, **more):"
        yield from indented(indented(chosen.split("\n")))
        yield "    return wrapper"

    def overriding(self, is_plain: bool) -> Iterator[str]:
        """Methods in the place of a base class's, which they call, or not."""
        plain = [
            "super().m{0}(); probe()", "r(self.{1}); super().m{0}()", "probe(); r(self.{1})",
            "self.{1} = new(); super().m{0}(); probe(); r(self.{2})", "type(self).__name__; probe(); super().m0()",
        ]  # fmt: skip
        wild = ["base = super(); self = probe(); base.m{0}()", "go = super().m{0}; self = probe(); go()"]
        for number in self.chance.sample(range(4), 2):
            read = self.chance.choices(["one", "two", "six"], k=2)
            chosen = self.chance.choice(plain if is_plain else plain + wild)
            yield f"def m{number}(self): {chosen.format(number, *read)}"

    def members(self, is_plain: bool, decorator: str) -> Iterator[str]:
        """Methods that read attributes, call one another, or let somebody have the object."""
        yield "def __init__(self): self.one, self.two, self.six = new(), new(), new()"
        plain = [
            "r(self.one)", "r(self.two)", "r(self.six)", "self.one = new()", "self.two = new(r(self.six))", "probe()",
            "self.two += probe()", "self.one, self.two = self.two, self.one", "probe()", "r(self.held)", "self.sit()",
            "if chance(): return r(self.two)", "for k in range(2):\n    probe(); r(self.one)",
            "called(self.one, probe())",
            "try:\n    boom(); r(self.one)\nexcept Boom:\n    probe(); r(self.two)\nfinally:\n    r(self.six)",
            "while chance():\n    self.six = new(r(self.one)); probe()", "self.__class__; probe()", "self = probe()",
            "if chance(): self.m3()", "if chance(): self.m1()", "del self.one; probe(); self.one = new()",
        ]  # fmt: skip
        wild = [
            "[r(self.one) for k in range(2) if not probe()]", "sum(bool(r(self.two)) for k in range(2) if not probe())",
            "(lambda: r(self.six))()", "me = self; self = probe(); r(me.one); self = me", "r(self.known)", "flat(self)",
            "wait = (one for one in [self]); probe(); r(next(wait).two)", "called(self, probe())",
        ]  # fmt: skip
        for number in range(4):
            decorated = ["", f"@{decorator}", *([] if is_plain else ["", "@keep", "@passed"])]
            yield from filter(None, [self.chance.choice(decorated), self.chance.choice(decorated[:2])])
            yield f"def m{number}(self):"
            chosen = self.chance.choices(plain if is_plain else plain + wild * 2, k=self.chance.randint(1, 4))
            chosen += [f"self.m{number - 1}()"] * (number > 0)
            self.chance.shuffle(chosen)
            yield from indented([line for step in chosen for line in step.split("\n")])
        read = self.chance.choice(["self.one", "self.two", "self.six"])
        yield self.chance.choice(["@property", "@cached_property"])
        yield f"def held(self): probe(); return new(r({read}))"
        yield self.chance.choice(["@staticmethod", "@classmethod"])
        yield "def sit(*given): probe()"
        hooks = ["known = property(flat)", "known = None", f"def __getattr__(self, name): return {read}"]
        yield "known = None" if is_plain else self.chance.choice(hooks)

    def defined(self, scope: Scope) -> Iterator[str]:
        """A function alone reads a global, and is found again by its name, by another one, or otherwise."""
        read, name, other, box = self.fresh("g"), self.fresh("d"), self.fresh("d"), self.fresh("box")
        if scope.is_function:
            yield f"global {read}, {name}, {other}, {box}"
        yield f"{read} = new()"
        makes = [
            "{0}", "{0}", "if chance():\n    {0}\nelse:\n    {0}", "try:\n    called()\nfinally:\n    {0}", "{0}\n{0}",
            "try:\n    boom()\nexcept Boom:\n    {0}\nelse:\n    {0}", "with new():\n    {0}", "@keep\n{0}",
            "for k in range(2):\n    {0}\n    {1}(); probe()", "def {1}(): return new()\nif chance():\n    {0}",
            "while chance():\n    {0}\n    {1}(); probe()\n{0}", "def make():\n    global {1}\n    {0}\nmake()",
            "{1} = lambda: r({2})", "[{1}() for {1} in [lambda: r({2})]]\n{0}",
        ]  # fmt: skip
        defines = self.chance.choice([
            f"def {name}(): return new(r({read}))", f"def {name}(): probe(); return r({read})",
            f"def {name}(): return [r({read}) for k in range(2)]", f"def {name}(): return (lambda: r({read}))()",
            f"def {name}(): return next(iter(r({read}) for k in range(1)))",
        ])  # fmt: skip
        yield from self.chance.choice(makes).format(defines, name, read).split("\n")
        ways = {
            "{0}": "{0}()",
            "{1} = {0}": "{1}()",
            "{1} = {0}; del {0}": "{1}()",
            "{2} = [{0}]; {1} = {2}.pop()": "{1}()",
            "{2} = [{0}]": "{2}.pop()()",
            "{2} = [{0}]; del {0}": "{1} = {2}.pop(); probe(); {1}()",
            "def {1}(): return {0}()": "{1}()",
            "def {1}(call={0}): return call()": "{1}()",
            "def {1}(): return new()\n{1}.__code__ = {0}.__code__": "{1}()",
            "def {1}(): return new()\n{1}.__code__ = {0}.__code__; del {0}": "{1}()",
            "def {1}(): yield {0}()\n{2} = {1}()": "called(*{2})",
            "def {1}(): yield 1; yield {0}()\n{2} = {1}(); next({2}); del {1}": "called(*{2})",
            "def {1}(call): yield 1; yield call()\n{2} = {1}({0}); next({2})": "called(*{2})",
            "async def {1}(): return {0}()": "driven({1}())",
            "class {1}:\n    call = staticmethod({0})": "{1}.call()",
            "class {1}:\n    def call(self): return {0}()\n{2} = {1}(); del {1}": "{2}.call()",
            "{2} = lambda: {0}()": "{2}()",
            "def {1}(call): probe(); return call()": "{1}({0})",
            "def {1}(call): there = call; del call; probe(); return there()": "{1}({0})",
            "def {1}():\n    global {2}\n    {2} = {0}\n{1}()": "{2}()",
            "def {1}():\n    def within(): return {0}()\n    return within\n{2} = {1}(); del {1}": "{2}()",
            "{0}.me = {0}; {1} = {0}.me; del {0}": "{1}.me()",
            "{1}, {2} = {0}, 1": "threaded(lambda it: {1}(), 1)",
        }  # fmt: skip
        way = self.chance.choice(list(ways))
        yield from way.format(name, other, box).split("\n")
        yield "probe()"
        yield from self.statement(scope) if scope.depth < DEPTH_MAX - 1 else ()
        if self.chance.random() < 0.7:
            yield ways[way].format(name, other, box)
        yield "probe()"

    def global_written(self, scope: Scope) -> Iterator[str]:
        if not scope.is_function:
            yield from self.assign(scope)
            return
        name = self.fresh("w")
        written, read = self.chance.sample(GLOBALS, 2)
        yield f"def {name}():"
        yield from indented([f"global {written}", f"{written} = new()", "probe()", f"{written} = new(r({read}))"])
        yield f"{name}()"


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def program(seed: int, favoured: str = "") -> str:
    """The same seed, the same program. ``favoured``: a form of which there are many.

    What the compiler refuses (a name both global and local) is written again.
    """
    chance = random.Random(seed)
    while True:
        text = Writer(chance, favoured=favoured).program()
        try:
            compile(text, "program", "exec", dont_inherit=True)
        except SyntaxError:
            continue
        return text
