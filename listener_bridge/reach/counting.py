"""Which objects nothing live refers to: their reference counts, less the references that are known.

Responsible for: the graph of handles, py4j's proxies and the containers in which handles lie; and the proof that all
references to some of them come from dead names, or from others of which the same is proven.
Refuses to know: which names are dead (`liveness`), and what is concluded (`handles`).
Invariant: it mutates nothing and runs no code of the objects; a reference that is not explained keeps the object that
it refers to, and everything that this one holds.

CPython's cycle collector does the same; here dead names are references that do not count. Proxies need it even when
the program has dropped them: a proxy of which one method was called is in a cycle with py4j's member for that method,
each in the other's attributes. So it does not die at once, but at the next collection of its generation. Java's lists,
maps and sets are in such a cycle from the start, since py4j keeps members in their attributes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, TypeAlias

from py4j.java_gateway import JavaMember, JavaObject

from listener_bridge.reach.attributes import parts
from listener_bridge.reach.containers import inside, under
from listener_bridge.reach.liveness import Dead

Pairs: TypeAlias = tuple[tuple[int, int], ...]

Counts: TypeAlias = Callable[[list[Any], Dead], list[int] | None]
"""Gives how many references there are to each object of a list, without those of the list and of the counting itself.

None: the program has moved on since its names were read.
"""


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read at one moment. Nodes are meant by their places in the census.

    `inside`: of each owner (`Census`) the ids of what it holds. `counts`: of each node its references. `dead`: pairs of
    a node and how many references to it are names that do not count. `used`: nodes of which names use only parts, and
    `in_parts`: pairs of such a node and a node that one of these parts holds, which may be the same one.
    """

    inside: tuple[tuple[int, ...], ...]
    counts: tuple[int, ...]
    dead: Pairs
    used: tuple[int, ...]
    in_parts: Pairs


class Census:
    """Handles and proxies that live now, and what they own. It holds one strong reference to each while it lives.

    Its nodes, in this order: handles; proxies; the handles' dictionaries of attributes; containers; the members of each
    proxy. Proxies, dictionaries and containers are owners: a proxy holds its members, the others whatever the program
    has put into them. A member refers to its proxy.
    """

    def __init__(self, handles: Sequence[Any], proxies: Sequence[Any], containers: Sequence[Any] = ()) -> None:
        self.handles, self.proxies = len(handles), len(proxies)
        self._nodes: list[Any] = [*handles, *proxies, *map(attributes_of, handles)]
        self._first_container = len(self._nodes)
        self._nodes += containers
        self._first_member = len(self._nodes)
        self._nodes += [member for proxy in proxies for member in _members(proxy)]
        self._places = {id(node): place for place, node in enumerate(self._nodes)}
        first = self.handles + self.proxies
        self._passed = {first + at: _made_of(attributes_of(handle)) for at, handle in enumerate(handles)}

    def node(self, place: int) -> Any:
        return self._nodes[place]

    def proxy(self, place: int) -> Any:
        return self._nodes[self.handles + place]

    def places(self, ids: Iterable[int]) -> set[int]:
        """The places of those of these objects, given by their ids, that are nodes."""
        return {self._places[one] for one in ids if one in self._places}

    def read(self, names: Dead, counts: Counts) -> Reading | None:
        """One reading; None if the program moved. The counts come last, and only two equal readings prove anything."""
        owned, by_name = tuple(map(tuple, self._owned())), self.by_name(names)
        found = counts(self._nodes, names)
        return None if found is None else Reading(owned, tuple(found), *by_name)

    def by_name(self, names: Dead) -> tuple[Pairs, tuple[int, ...], Pairs]:
        """What the program's names say of the nodes: `dead`, `used` and `in_parts` of a reading."""
        places, used = self._places, parts(names, self._containers)
        explained = Counter(names.references) + Counter({one: names.used[one].names for one in used})
        dead = sorted((places[one], count) for one, count in explained.items() if one in places)
        read = ((places[one], place) for one, attributes in used.items() for place in self._in_parts(one, attributes))
        return tuple(dead), tuple(sorted(places[one] for one in used)), tuple(sorted(read))

    def _in_parts(self, one: int, names: Collection[str]) -> set[int]:
        """Places of what an object has as attributes of these names, or under these keys."""
        return self.places(under(self.node(self._places[one]), names))

    def held(self, names: Dead, reading: Reading) -> set[int]:
        """Places of the nodes that live names hold as a whole."""
        return self.places(names.names).difference(reading.used)

    def reached(self, reading: Reading, also: AbstractSet[int] = frozenset()) -> set[int]:
        """Places of nodes to which something live refers, directly or through others; `also` counts as live."""
        holds = self._holds(reading)
        unexplained = list(reading.counts)
        for place, count in reading.dead:
            unexplained[place] -= count
        for held in holds:
            for place in held:
                unexplained[place] -= 1
        todo = [place for place, count in enumerate(unexplained) if count != 0 or place in also]  # below 0: in doubt
        todo += [place for _, place in reading.in_parts]
        found = set(todo)
        while todo:
            here = todo.pop()
            passed = self._passed.get(here, ())
            for place in holds[here]:
                if place not in found and id(self._nodes[place]) not in passed:
                    found.add(place)
                    todo.append(place)
        return found

    @property
    def _containers(self) -> list[Any]:
        return self._nodes[self._first_container : self._first_member]

    @property
    def containers(self) -> range:
        """Places of containers."""
        return range(self._first_container, self._first_member)

    def _owned(self) -> list[list[int]]:
        """Of each owner the ids of what it holds, which can change between two readings."""
        members = map(_members, self._nodes[self.handles : self.handles + self.proxies])
        attributes = self._nodes[self.handles + self.proxies : self._first_container]
        held = map(inside, self._containers)
        return [*([*map(id, each)] for each in (*members, *map(dict.values, attributes))), *held]

    def _holds(self, reading: Reading) -> list[list[int]]:
        """Of each node the places of the nodes that it refers to."""
        places = self._places
        own = self.handles + self.proxies
        holds = [[own + place] for place in range(self.handles)]
        holds += [[places[one] for one in ids if one in places] for ids in reading.inside]
        for member in self._nodes[self._first_member :]:
            proxy = places.get(id(getattr(member, "container", None)))
            holds.append([] if proxy is None else [proxy])
        return holds


def attributes_of(handle: Any) -> dict[str, Any]:
    """Its dictionary of attributes. Not by `vars`: a subclass of the program's may answer that with code of its own."""
    found: dict[str, Any] = object.__getattribute__(handle, "__dict__")
    return found


def _made_of(attributes: Mapping[str, Any]) -> frozenset[int]:
    """The ids of what a persisted or checkpointed pipelined RDD was made of, if its JVM object exists.

    What the program builds on such an RDD is made of the RDD itself, and no longer of its `prev`
    (`PipelinedRDD._is_pipelinable`, PySpark 3.5 to 4.3). The walk in the JVM goes down to the same inputs, unless it
    stops at cached blocks; if these attributes counted, it could never stop there.
    """
    is_kept = attributes.get("is_cached") is True or attributes.get("is_checkpointed") is True
    if not is_kept or attributes.get("_jrdd_val") is None:
        return frozenset()
    return frozenset(id(attributes[name]) for name in ("prev", "_prev_jrdd") if name in attributes)


def _members(proxy: Any) -> list[Any]:
    """The members that py4j keeps in a proxy, one for each method that was called. `getattr` would add one.

    Other threads may change these mappings meanwhile: each is copied in one step.
    """
    try:
        methods: Mapping[str, Any] = object.__getattribute__(proxy, "_methods")
    except AttributeError:
        return []
    return [*methods.values(), *([] if type(proxy) is JavaObject else _own_members(proxy))]


def _own_members(collection: Any) -> list[Any]:
    """Of a list, a map or a set of Java's: those that it has as attributes."""
    return [one for one in list(vars(collection).values()) if type(one) is JavaMember]
