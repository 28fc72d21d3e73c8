"""Another process on the same ledger: appends so many numbered events, a few at a time.

Arguments: folder, name, events, events at a time.
"""

from __future__ import annotations

import sys
from pathlib import Path

from edgefaced.events import Event, Trouble
from edgefaced.ledger.store import Ledger


def main() -> None:
    folder, name, events, at_a_time = sys.argv[1:]
    sys.stdin.readline()  # the word to begin
    with Ledger.open(Path(folder) / "events.db", create=True, busy_seconds=60) as ledger:
        for first in range(0, int(events), int(at_a_time)):
            batch = range(first, first + int(at_a_time))
            ledger.append([Event(Trouble(name, str(number)), "door") for number in batch])
    sys.stdout.write("done\n")


if __name__ == "__main__":
    main()
