"""A process that forgets a person until it is killed; forks one for each line it is told.

Line in: {"folder": …, "fifo": …, "person": …}
The worker says "begun", and "done" where it comes to an end.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from nursery import fork_for_each_line

from edgefaced.ledger.redaction import redact_person
from edgefaced.ledger.store import Ledger


def work(order: dict[str, Any]) -> None:
    fifo = os.open(order["fifo"], os.O_WRONLY)
    with Ledger.open(Path(order["folder"]) / "events.db") as ledger:
        os.write(fifo, b"begun\n")
        redact_person(ledger, order["person"], "test")
        os.write(fifo, b"done\n")
    while order["lingers"]:
        os.read(os.eventfd(0), 8)


if __name__ == "__main__":
    fork_for_each_line(work)
