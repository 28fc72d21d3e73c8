"""Who was let in lately, as the ledger has it after a restart."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from ledgers import ANN, BOB, NOON, event, seen

from edgefaced.config.places import Places
from edgefaced.core.passback import Passage
from edgefaced.errors import LedgerError
from edgefaced.events import AccessDecided, Event, read_boot_id
from edgefaced.ledger.passages import MOST, passages
from edgefaced.ledger.store import Ledger
from edgefaced.outlets import book_of

HOUR = 3600.0


def let_in(person: str | None = ANN, *, granted: bool = True) -> AccessDecided:
    return AccessDecided("front", granted, "allowed", person, 1)


def recalled(
    folder: Path, events: Sequence[Event], *, now: datetime | None = NOON
) -> list[Passage]:
    with Ledger.open(folder / "events.db", create=True) as ledger:
        ledger.append(events)
        return passages(ledger, 12 * HOUR, now=now, boot_id="this", boot_ns=50 * 10**9)


def test_passages_of_an_earlier_boot_are_as_old_as_the_dates_say(tmp_path: Path) -> None:
    found = recalled(
        tmp_path,
        [
            event(let_in(BOB), at=NOON - timedelta(hours=13)),
            event(let_in(ANN), at=NOON - timedelta(hours=2)),
            event(let_in(BOB, granted=False), at=NOON - timedelta(hours=1)),
            event(let_in(None), at=NOON - timedelta(hours=1)),
            event(seen(BOB), at=NOON - timedelta(hours=1)),
            event(let_in(BOB), at=NOON - timedelta(minutes=30)),
        ],
    )
    assert found == [Passage("front", ANN, 2 * HOUR), Passage("front", BOB, HOUR / 2)]


def test_within_a_boot_no_date_is_asked(tmp_path: Path) -> None:
    unsure = event(let_in(), boot="this", monotonic_s=20, synchronised=False)
    assert recalled(tmp_path, [unsure], now=None) == [Passage("front", ANN, 30.0)]


@pytest.mark.parametrize("known", [True, False])
def test_where_a_clock_was_or_is_not_right_nobody_knows_how_old(
    tmp_path: Path, known: bool
) -> None:
    passage = event(let_in(), at=NOON - timedelta(days=300), synchronised=not known)
    assert recalled(tmp_path, [passage], now=NOON if known else None) == [
        Passage("front", ANN, None)
    ]


def test_a_date_that_was_reckoned_back_later_counts(tmp_path: Path) -> None:
    found = recalled(
        tmp_path,
        [
            event(let_in(), at=datetime.fromtimestamp(9, NOON.tzinfo), synchronised=False),
            event(seen(), at=NOON - timedelta(hours=1), monotonic_s=60),
        ],
    )
    assert found == [Passage("front", ANN, HOUR + 60)]


def test_not_the_whole_ledger_is_read(tmp_path: Path) -> None:
    events = [event(let_in(BOB)), *(event(let_in(None)) for _ in range(MOST))]
    assert recalled(tmp_path, events) == []


def test_the_doors_book_asks_this_machines_ledger(tmp_path: Path) -> None:
    places = Places(tmp_path / "edgefaced.toml", tmp_path / "state", tmp_path / "models")
    book = book_of(places)
    assert list(book.passages(HOUR)) == [], "nothing was ever recorded"
    with Ledger.open(places.events_file, create=True) as ledger:
        ledger.append([Event(let_in(), "door", boot_id=read_boot_id())])
    (passage,) = book.passages(HOUR)
    assert (passage.door, passage.person_id) == ("front", ANN)
    assert passage.age_seconds is not None
    places.events_file.write_bytes(b"no ledger" * 1000)
    with pytest.raises(LedgerError):
        book.passages(HOUR)
