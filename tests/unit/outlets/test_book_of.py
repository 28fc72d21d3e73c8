"""The doors' book as a daemon gets it: the ledger and the noted lines tell of doors before."""

from __future__ import annotations

from pathlib import Path

import pytest
from door_rigs import UNCHECKED, Rig, settings
from ledgers import event

from edgefaced.config.places import Places, places
from edgefaced.doors.remembered import remember
from edgefaced.doors.wires import LockWires, Wire
from edgefaced.events import DoorChanged, DoorState, Event, Trouble
from edgefaced.ledger.store import Ledger
from edgefaced.outlets import book_of


@pytest.fixture
def house(tmp_path: Path) -> Places:
    return places({"EDGEFACED_STATE_DIR": str(tmp_path)}, root=False)


def test_a_new_device_has_new_doors(house: Places) -> None:
    book = book_of(house)
    assert book.open() is None
    assert not book.page.everything
    with Ledger.open(house.events_file, create=True) as ledger:
        ledger.append([event(Trouble("camera", "no door's business"))])
    assert not book_of(house).was_here()


def test_the_ledger_knows_of_doors_before(house: Places) -> None:
    with Ledger.open(house.events_file, create=True) as ledger:
        ledger.append([event(DoorChanged("front", DoorState.NORMAL, "the daemon has started"))])
    book = book_of(house)
    assert "is gone, and there were doors before" in str(book.open())
    assert book.page.everything
    assert book.page.forgotten


def test_so_does_the_note_of_their_lines(house: Places) -> None:
    remember(house.door_lines_file, (LockWires("front", Wire("file", "pins", "relay")),))
    assert book_of(house).was_here()


def test_a_ledger_that_cannot_be_read_leaves_a_doubt(house: Places) -> None:
    house.events_file.write_bytes(b"no database" * 1000)
    assert book_of(house).was_here()


def test_after_a_restart_the_ledger_says_who_is_inside(house: Places) -> None:
    doors = settings(doors={"front": {**UNCHECKED, "area": "lab"}})
    before = Rig(doors, house.doors_file, book_in_use=book_of(house))
    assert before.ask() == (True, "allowed")
    with Ledger.open(house.events_file, create=True) as ledger:
        ledger.append([Event(happening, "door") for happening in before.told])
    after = Rig(doors, house.doors_file, book_in_use=book_of(house))
    assert after.ask() == (False, "anti-passback")
    house.events_file.unlink()
    new = Rig(doors, house.doors_file, book_in_use=book_of(house))
    assert new.ask() == (True, "allowed"), "with the ledger gone nobody is known to be inside"
