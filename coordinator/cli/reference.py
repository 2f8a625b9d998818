"""docs/configuration.md, written from what the code knows.

Responsible for the page: keys of shufflectl and of a replica, conf keys of a driver, exit codes. Refuses to know prose
that could go stale. Invariant: with ``--check`` nothing is written, and a stale page is an error.

    python -m coordinator.cli.reference [--check]
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from coordinator.cli.exits import MEANINGS
from coordinator.config import FILE_VARIABLE, Key, keys

PAGE = Path(__file__).resolve().parents[2] / "docs" / "configuration.md"

_HEAD = f"""# Configuration

This page is written from the code by `python -m coordinator.cli.reference`.

Of a flag, the environment, the file and the default the first one counts that says something. A key that is not known
is an error. `shufflectl config show --origin` tells every value and where it is from.

The file is TOML: the one that `--config` or `{FILE_VARIABLE}` names, else
`~/.config/shuffle-lifecycle/shufflectl.toml` (`XDG_CONFIG_HOME` is respected) where there is one:

```toml
store = "etcd://10.0.0.1:2379,10.0.0.2:2379,10.0.0.3:2379/shuffles"

[serve]
listen = "127.0.0.1:7457"
silence_s = 120
```

## Of shufflectl

Flags have the names of the keys: `--log-level` for `log_level`.
"""

_SERVE = """
## Of a coordinator: `shufflectl serve`

In the file these stand in the table `[serve]`. Flags are `--listen`, or `--port` for a port of 127.0.0.1;
`--pages-port`, which is one too, for `pages`; `--data`, `--metrics`, `--history` and `--beyond-loopback`.
"""

_LIMITS = """
## Limits of a coordinator: `[limits]`

What a client can make grow, and how far. What goes beyond is refused as a whole, with `RESOURCE_EXHAUSTED` or
`INVALID_ARGUMENT` and words that name the limit, and is counted in the log or in `audit`; a session that is too fast is
read more slowly instead.
"""

_DRIVER = """
## Of a driver: `spark.shuffleLifecycle.*`

Spark conf keys, in code, in `spark-defaults.conf`, or with `--conf`. The argument of `listener_bridge.attach` for a key
is its name in snake case (`budget_premature`) and goes before the conf. A job's own local properties with these names
choose the policy of that job; those of an SQL job are its session's conf (`spark.conf.set`), where that names them,
since Spark puts it in their place. A key that is not known, or a wrong value, in the conf switches the plugin off with
one line in the driver's log; as an argument of `attach` it raises `ValueError`.

| key | meaning |
|---|---|
"""

_EXITS = """
## Exit codes of shufflectl

`shufflectl run` ends with the program's own.

| code | meaning |
|---|---|
"""


def page() -> str:
    """The whole page."""
    own = [key for key in keys() if "." not in key.name]
    serve = [key for key in keys() if key.name.startswith("serve.")]
    limits = [key for key in keys() if key.name.startswith("limits.")]
    exits = "\n".join(f"| {code.value} | {meaning} |" for code, meaning in MEANINGS.items())
    coordinators = f"{_SERVE}\n{_table(serve)}\n{_LIMITS}\n{_table(limits)}\n"
    return f"{_HEAD}\n{_table(own)}\n{coordinators}{_DRIVER}{_driver_keys()}\n{_EXITS}{exits}\n"


def _table(of: Iterable[Key]) -> str:
    return "\n".join(["| key | environment | default | meaning |", "|---|---|---|---|", *map(_row, of)])


def _row(key: Key) -> str:
    default = f"`{key.default}`" if key.default else ""
    name = key.name.rpartition(".")[2]
    return f"| `{name}` | `{key.variable}` | {default} | {key.description} ({key.kind}) |"


def _driver_keys() -> str:
    return "\n".join(_driver_rows())


def _driver_rows() -> Iterator[str]:
    from listener_bridge.settings import KEYS, PREFIX

    for name, meaning in KEYS.items():
        yield f"| `{PREFIX}{name}` | {meaning} |"


def main(arguments: list[str]) -> int:
    """Writes the page, or says that it is stale."""
    if "--check" not in arguments:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == page():
        return 0
    print(f"docs/{PAGE.name} is not what the code says; run `python -m coordinator.cli.reference`", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
