"""Which names of the running program will never be read again, from CPython's bytecode (3.11 to 3.14).

    dead = liveness.dead_references(is_own=lambda frame: frame.f_code.co_filename == program)
    dead.references.get(id(thing), 0)    # references to `thing` that the program will never use

Responsible for that answer: it follows from where frames stand (`frames`), and from what their code and all other code
of the program could still read (`codes`, `survey`). Refuses to know what the names hold, and what is done with the
answer. Invariant: on any other Python, while a trace function is set, and wherever bytecode does not tell, nothing is
dead.

The caller counts references afterwards, with `counts`, and does both twice: what is equal both times held in between.

    where it stands   frames, values, namespaces, standing, session
    what code is      codes, survey, texts, words
    what it reads     dataflow, variables, opcodes, using, borrowing
    nested code       passing, forwarding, functions
    parts of objects  methods, assigning
    other ways        bypasses, shells
"""

from listener_bridge.reach.liveness.frames import are_still, dead_references
from listener_bridge.reach.liveness.methods import attributes_read
from listener_bridge.reach.liveness.standing import counts
from listener_bridge.reach.liveness.using import items_read
from listener_bridge.reach.liveness.words import Dead, Name, Wanted

__all__ = ["Dead", "Name", "Wanted", "are_still", "attributes_read", "counts", "dead_references", "items_read"]
