"""A house whose guard only notes what it is told, and decisions to bring to its doors."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from edgefaced.config.settings import Settings
from edgefaced.core.access import Grant, Rights
from edgefaced.doors.book import Book
from edgefaced.doors.house import House
from edgefaced.doors.plan import plans_of
from edgefaced.doors.wires import Order
from edgefaced.events import AccessDecided, DecisionMade, Event, Happening
from edgefaced.types import Decision, Liveness, Outcome

BOOT = "this boot"
CAMERA = "v4l2"
DOOR: dict[str, Any] = {"chip_kind": "file", "chip": "pins", "relay_line": "relay"}
UNCHECKED = {**DOOR, "liveness": "not required"}
ANN = Decision(Outcome.KNOWN, "ann", 0.7, 0.4, Liveness.NOT_CHECKED, "frames agree")
ALWAYS = Rights((Grant("front"), Grant("back")))


def settings(**sections: Any) -> Settings:
    return Settings.model_validate({"doors": {"front": UNCHECKED}, **sections})


def seen(decision: Decision = ANN, *, track: int = 1, **changes: Any) -> Event:
    """A decision of just now, as the ledger has taken it."""
    now = time.monotonic_ns()
    event = Event(DecisionMade(track, decision, now, now), CAMERA, boot_id=BOOT, synchronised=True)
    return replace(event, **changes)


def unknown(track: int) -> Event:
    nobody = Decision(Outcome.UNKNOWN, None, 0.2, 0.4, Liveness.NOT_CHECKED, "no agreement")
    return seen(nobody, track=track)


@dataclass
class Rig:
    """A house that has been opened, everything it announced and everything its guard was told."""

    config: Settings
    book: Path
    told: list[Happening] = field(default_factory=list)
    orders: list[Order] = field(default_factory=list)
    camera: str | None = "a camera"
    rights: Rights | None = ALWAYS
    now_open: bool = True
    book_in_use: Book | None = None
    """That of the house before, as after a reload."""

    def __post_init__(self) -> None:
        self.kept = self.book_in_use or Book(self.book)
        self.house = House(plans_of(self.config), self.kept, BOOT)
        self.house.connect(self.told.append, lambda: self.camera)
        if self.now_open:
            self.house.open_book()
            self.house.recall_passages()
            self.house.guard_up(self.orders.append)
            self.told.clear()

    def decide(self, event: Event) -> list[AccessDecided]:
        """What the doors say of it."""
        before = len(self.told)
        self.house.decide(event, lambda person: self.rights)
        return [h for h in self.told[before:] if isinstance(h, AccessDecided)]

    def again(self) -> list[str]:
        """Who is to be decided once more since the last call."""
        waiting = []
        while not self.house.again.empty():
            waiting.append(self.house.again.get())
        return waiting

    def ask(self, event: Event | None = None) -> tuple[bool, str]:
        """What the one door says."""
        (decided,) = self.decide(event or seen())
        return decided.granted, decided.reason

    def said(self, kind: type[Happening]) -> list[Happening]:
        return [happening for happening in self.told if isinstance(happening, kind)]


Make = Callable[..., Rig]
