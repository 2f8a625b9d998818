"""`python -m listener_bridge` prints the file that `spark-submit` takes before an unmodified program."""

from __future__ import annotations

from listener_bridge.running import submitted

if __name__ == "__main__":
    print(submitted.__file__)
