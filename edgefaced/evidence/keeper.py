"""Keeps the pictures that the configuration asks for: a sink whose trouble is nobody else's."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from edgefaced.clock import is_synchronised
from edgefaced.errors import EdgefacedError, StorageError
from edgefaced.events import AccessDecided, DecisionMade, Event, Trouble
from edgefaced.evidence import folder as pictures
from edgefaced.evidence.folder import AT_ONCE, Kept
from edgefaced.evidence.limits import Limits, due, erase_some_due
from edgefaced.evidence.sealing import sealed
from edgefaced.gallery import rows
from edgefaced.gallery.picture_keys import picture_keys_or_first
from edgefaced.gallery.store import Gallery
from edgefaced.ledger.codec import person_in
from edgefaced.ledger.rows import microseconds
from edgefaced.pictures.write import jpeg_bytes
from edgefaced.pipeline.tray import Tray
from edgefaced.protocols import Delivery, SinkPlan
from edgefaced.types import U8

TIDY_SECONDS = 60.0

KEEPING, TIDYING = "cannot be kept", "cannot be taken away"

UNASKED_SECONDS = 10.0
"""After which no event asks for a picture any more."""


@dataclass(frozen=True, slots=True)
class Keeping:
    """What is kept, where, and for how long."""

    of: frozenset[str]
    folder: Path
    gallery: tuple[Path, Path]
    """Its file and its key's."""
    limits: Limits
    jpeg_quality: int
    reserve_bytes: int = 64_000_000
    """Of the disk; with less than that free no picture is kept."""


class Keeper:
    """Used by the thread that delivers to it; `tray` may be used by any."""

    def __init__(self, keeping: Keeping, tray: Tray, *, tidy_seconds: float = TIDY_SECONDS) -> None:
        """Every `tidy_seconds` what is too old or too much goes."""
        self.tray = tray
        self._keeping = keeping
        self._tidy_seconds = tidy_seconds
        self._gallery: Gallery | None = None
        self._tidied = float("-inf")
        self._failing = ""

    def plan(self) -> SinkPlan:
        """Its place among the sinks."""
        return SinkPlan(lambda: self, Delivery.MOMENTARY, idle=self.look_after)

    def emit(self, event: Event) -> None:
        """Keeps the event's picture where one is wanted; never fails, what is wrong is told."""
        taken = self._taken(event)
        if taken is not None:
            try:
                self._keep(event, jpeg_bytes(taken, self._keeping.jpeg_quality))
            except EdgefacedError as error:
                self.tray.missed += 1
                self._fail(error, KEEPING)
            else:
                self._recover(KEEPING)
        self.look_after()

    def look_after(self) -> None:
        """Now and then: what is too old or too much goes, also while nothing happens."""
        if time.monotonic() - self._tidied < self._tidy_seconds:
            return
        self._tidied = time.monotonic()
        self.tray.clear_after(UNASKED_SECONDS)
        try:
            self._tidy()
        except EdgefacedError as error:
            self._fail(error, TIDYING)
        else:
            self._recover(TIDYING)

    def close(self) -> None:
        if self._gallery is not None:
            self._gallery.close()
            self._gallery = None

    def _taken(self, event: Event) -> U8 | None:
        happening = event.happening
        if not self._keeping.of & occasions(event):
            return None
        match happening:
            case DecisionMade(track_id=track_id, captured_ns=captured_ns):
                taken = self.tray.find(track_id, captured_ns)
            case AccessDecided(track_id=int() as track_id):
                taken = self.tray.find(track_id)
            case _:
                return None
        if taken is None:
            self.tray.missed += 1
            return None
        return taken.pixels

    def _keep(self, event: Event, jpeg: bytes) -> None:
        keeping, person_id = self._keeping, person_in(event)
        with pictures.alone_in(keeping.folder):
            gallery = self._open_gallery()
            # Whoever was removed since is not to come back as a picture.
            if person_id is not None and not self._is_enrolled(gallery, person_id):
                return
            self._refuse_full_disk()
            there = pictures.kept_in(keeping.folder)
            kept = Kept(
                number=there[-1].number + 1 if there else 1,
                taken_us=microseconds(event.utc) if event.synchronised else None,
                event_id=event.id,
                person_id=person_id,
                size_bytes=len(jpeg),
            )
            # First room, then the new one.
            goes = due((*there, kept), keeping.limits, _now_us())
            pictures.erase(keeping.folder, goes[:AT_ONCE])
            content = sealed(jpeg, kept, picture_keys_or_first(gallery))
            pictures.write(keeping.folder, kept, content)
            self._count()

    def _tidy(self) -> None:
        if erase_some_due(self._keeping.folder, self._keeping.limits, _now_us()) == AT_ONCE:
            self._tidied = float("-inf")  # the rest in a moment: others may come between
        self._count()

    def _count(self) -> None:
        there = pictures.kept_in(self._keeping.folder)
        self.tray.kept = len(there)
        self.tray.kept_bytes = sum(kept.size_bytes for kept in there)

    def _is_enrolled(self, gallery: Gallery, person_id: str) -> bool:
        with gallery.reading() as db:
            return rows.is_enrolled(db, person_id)

    def _open_gallery(self) -> Gallery:
        """The one that is there now; a gallery that was exchanged or removed is noticed."""
        if self._gallery is not None:
            try:
                self._gallery.version()
            except EdgefacedError:
                self.close()
        if self._gallery is None:
            self._gallery = Gallery.open(*self._keeping.gallery)
        return self._gallery

    def _refuse_full_disk(self) -> None:
        """The last room is for the ledger: without it no door opens."""
        folder, reserve = self._keeping.folder, self._keeping.reserve_bytes
        if shutil.disk_usage(folder).free < reserve:
            raise StorageError(
                f"{folder}: less than {reserve // 1_000_000} MB of the disk are free",
                "they are left to the ledger; make room",
            )

    def _fail(self, error: EdgefacedError, doing: str) -> None:
        """Told once, however long it lasts."""
        if not self.tray.fault:
            self.tray.announce(Trouble("pictures", f"{doing}: {error}"))
        self.tray.fault, self._failing = error.message, doing

    def _recover(self, doing: str) -> None:
        if self.tray.fault and self._failing == doing:
            self.tray.fault = ""
            said = f"all is well again; {self.tray.missed} are missing since the start"
            self.tray.announce(Trouble("pictures", said))


def occasions(event: Event) -> frozenset[str]:
    """What the configuration may call an event."""
    match event.happening:
        case DecisionMade(decision=decision):
            return frozenset({decision.outcome.value})
        case AccessDecided(granted=granted, duress=duress):
            said = {"granted" if granted else "refused"}
            return frozenset(said | {"duress"} if duress else said)
        case _:
            return frozenset()


def _now_us() -> int | None:
    return time.time_ns() // 1000 if is_synchronised() else None
