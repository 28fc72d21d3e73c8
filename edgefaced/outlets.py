"""Where a line's events go, by the settings: into the ledger, and to which sinks and clerks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from edgefaced.attendance.clerk import NAME as CLERK
from edgefaced.attendance.clerk import clerk_plan
from edgefaced.attendance.records import KINDS
from edgefaced.attendance.zone import zone_of
from edgefaced.clock import boot_ns, is_synchronised
from edgefaced.config.ledger import LedgerSection
from edgefaced.config.pictures import PicturesSection
from edgefaced.config.places import Places
from edgefaced.config.settings import Settings
from edgefaced.core.passback import Passage
from edgefaced.doors.book import Book
from edgefaced.doors.by_mqtt import entities_of, obedience_of
from edgefaced.doors.house import House
from edgefaced.errors import EdgefacedError, LedgerError, LedgerMissing
from edgefaced.events import Event, Trouble, read_boot_id
from edgefaced.evidence.keeper import Keeper, Keeping
from edgefaced.evidence.limits import Limits
from edgefaced.gpio.choose import open_input
from edgefaced.gpio.lines import InputLine
from edgefaced.ledger.passages import passages as passages_in
from edgefaced.ledger.retention import Keep, Retention
from edgefaced.ledger.store import Ledger
from edgefaced.pipeline.buttons import Buttons
from edgefaced.pipeline.recorder import Backlog, Recording
from edgefaced.pipeline.tray import PictureWish, Tray
from edgefaced.protocols import SinkPlans
from edgefaced.sinks.choose import chosen_sinks
from edgefaced.sinks.mqtt.discovery import Entity, standard_entities
from edgefaced.sinks.mqtt.topics import Topics

BUSY_SECONDS = 1.5
"""How long those who record and deliver wait for another process's transaction; a door waits
little more than a second for the ledger.
"""


def recording_of(settings: Settings, places: Places, backlog: Backlog) -> Recording:
    """Where events are recorded; `backlog` holds what the ledger cannot take."""
    path = places.events_file
    return Recording(
        lambda: Ledger.open(path, create=True, busy_seconds=BUSY_SECONDS),
        retention_of(settings.ledger),
        backlog,
    )


def book_of(places: Places) -> Book:
    """The doors' book. The ledger says whether there were doors before, and who is inside."""

    def was_here() -> bool:
        if places.door_lines_file.exists():
            return True
        try:
            with Ledger.open(places.events_file, busy_seconds=BUSY_SECONDS) as ledger:
                return ledger.knows_kind("door")
        except LedgerMissing:
            return False
        except LedgerError:
            return True  # nobody knows, and doubt opens no door

    def passages(seconds: float) -> list[Passage]:
        now = datetime.now(UTC) if is_synchronised() else None
        try:
            with Ledger.open(places.events_file, busy_seconds=BUSY_SECONDS) as ledger:
                boot_id = read_boot_id()
                return passages_in(ledger, seconds, now=now, boot_id=boot_id, boot_ns=boot_ns())
        except LedgerMissing:
            return []

    return Book(places.doors_file, was_here, passages)


def record_trouble(places: Places, where: str, detail: str) -> None:
    """Records what kept a daemon from starting; once, however often it is tried in a row.

    Nothing where there can be no ledger: the error is said anyway.
    """
    trouble = Trouble(where, detail)
    try:
        with Ledger.open(places.events_file, create=True, busy_seconds=BUSY_SECONDS) as ledger:
            last = ledger.after(max(ledger.head().position - 1, 0), 1)
            if not any(record.event.happening == trouble for record in last):
                ledger.append([Event(trouble, "")])
    except EdgefacedError:
        return


def sinks_of(
    settings: Settings,
    places: Places,
    always: SinkPlans,
    stop: threading.Event,
    house: House | None = None,
) -> SinkPlans:
    """Everything that is configured, and what is `always` there.

    `stop` ends every waiting of a sink; `house` has the doors, where there are any. Raises
    ConfigError.
    """

    def entities(topics: Topics) -> Sequence[Entity]:
        doors = settings.doors if house is not None else {}
        orders = settings.mqtt.commands
        return (*standard_entities(topics), *entities_of(topics, doors, orders=orders))

    obey = None if house is None else obedience_of(house)
    chosen = chosen_sinks(settings, places, stop, obey=obey, entities=entities)
    return {**always, **chosen, **_clerks(settings, places)}


def _clerks(settings: Settings, places: Places) -> SinkPlans:
    section = settings.attendance
    if not section.enabled:
        return {}
    rules = section.rules(zone_of(section.time_zone))
    needs_liveness = section.liveness == "required"
    return {CLERK: clerk_plan(rules, places.events_file, needs_liveness=needs_liveness)}


def keeper_of(settings: Settings, places: Places) -> Keeper | None:
    """Who keeps pictures of events, and takes them away in time also where no more are wanted."""
    section = settings.pictures
    if not (section.of or places.pictures_dir.exists()):
        return None
    keeping = Keeping(
        frozenset(section.of),
        places.pictures_dir,
        (places.gallery_file, places.key_file),
        picture_limits_of(section),
        section.jpeg_quality,
    )
    wish = PictureWish(section.what == "frame", section.longest_side_px) if section.of else None
    return Keeper(keeping, Tray(wish))


def picture_limits_of(section: PicturesSection) -> Limits:
    """Which pictures must go."""
    maximum_bytes = section.maximum_megabytes * 1_000_000
    return Limits(section.keep_days, section.keep_pictures, maximum_bytes)


def buttons_of(settings: Settings) -> Buttons | None:
    """The buttons of attendance, where there are any."""
    section = settings.attendance
    chip, wired = section.button_chip, section.button_lines()
    if not section.enabled or section.mode != "button" or chip is None:
        return None
    kind, active_low = section.button_chip_kind, section.button_active_low

    def opener(line: str) -> Callable[[], InputLine]:
        return lambda: open_input(kind, chip, line, active_low=active_low)

    return Buttons({direction: opener(line) for direction, line in wired.items()})


def retention_of(section: LedgerSection) -> Retention:
    """What is kept for how long."""
    attendance = _keep(section.attendance_days, section.attendance_records)
    special: dict[str, Keep] = {
        kind: _keep(keep.days, keep.records) for kind, keep in section.kinds.items()
    }
    return Retention(
        _keep(section.keep_days, section.keep_records),
        {**dict.fromkeys(KINDS, attendance), **special},
        section.maximum_megabytes * 1_000_000,
    )


def _keep(days: float, records: int) -> Keep:
    return Keep(days or None, records or None)
