"""A process that keeps pictures until it is killed; forks one for each line it is told.

Line in: {"folder": …, "fifo": …, "first": number of the first event}
The worker says the id of each event whose picture is kept.
"""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from nursery import fork_for_each_line

from edgefaced.events import DecisionMade, Event
from edgefaced.evidence.keeper import Keeper, Keeping
from edgefaced.evidence.limits import Limits
from edgefaced.pipeline.tray import PictureWish, TakenPicture, Tray
from edgefaced.types import Decision, Liveness, Outcome

KEPT = 40
STRANGER = Decision(Outcome.UNKNOWN, None, 0.1, 0.4, Liveness.NOT_CHECKED, "below threshold")


def keeper_in(folder: Path) -> Keeper:
    gallery = folder / "gallery.db", folder / "gallery.key"
    limits = Limits(7, KEPT, 100_000_000)
    keeping = Keeping(frozenset({"unknown"}), folder / "pictures", gallery, limits, 80, 0)
    return Keeper(keeping, Tray(PictureWish(whole=False, longest_px=256)))


def work(order: dict[str, Any]) -> None:
    keeper, fifo = keeper_in(Path(order["folder"])), os.open(order["fifo"], os.O_WRONLY)
    for number in count(order["first"]):
        noise = np.random.default_rng(number).integers(0, 255, (200, 200, 3), np.uint8)
        keeper.tray.lay_down(TakenPicture(number, number, noise))
        event = Event(DecisionMade(number, STRANGER, number, number), "door")
        keeper.emit(event)
        assert not keeper.tray.fault
        os.write(fifo, f"{event.id}\n".encode())


if __name__ == "__main__":
    fork_for_each_line(work)
