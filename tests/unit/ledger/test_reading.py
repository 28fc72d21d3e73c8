"""Looking events up by time, kind and person, with dates that are repaired when they are read."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ledgers import ANN, BOB, NOON, event, seen, troubles

from edgefaced.events import Trouble
from edgefaced.ledger.reading import PAGE, Wanted, entries, last_entries
from edgefaced.ledger.store import Ledger

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "events.db", create=True) as ledger:
        yield ledger


def positions(ledger: Ledger, wanted: Wanted) -> list[int]:
    found = [entry.record.position for entry in entries(ledger, wanted)]
    newest = [entry.record.position for entry in last_entries(ledger, wanted, 3)]
    assert newest == found[-3:]
    return found


def test_by_kind_person_and_time(ledger: Ledger) -> None:
    ledger.append(
        [
            event(seen(ANN), at=NOON),
            event(seen(BOB), at=NOON + timedelta(hours=1)),
            event(Trouble("x", "y"), at=NOON + timedelta(hours=2)),
            event(seen(ANN), at=NOON + timedelta(hours=3)),
        ]
    )
    hour = NOON + timedelta(hours=1)
    assert positions(ledger, Wanted()) == [1, 2, 3, 4]
    assert positions(ledger, Wanted(kinds=("trouble",))) == [3]
    assert positions(ledger, Wanted(kinds=("trouble", "face"), person_id=ANN)) == [1, 4]
    assert positions(ledger, Wanted(since=hour)) == [2, 3, 4]
    assert positions(ledger, Wanted(until=hour)) == [1]
    assert positions(ledger, Wanted(since=hour, until=hour + timedelta(hours=1))) == [2]
    assert positions(ledger, Wanted(person_id="nobody")) == []
    assert [e.record.position for e in entries(ledger, Wanted(), after=2)] == [3, 4]


def test_page_by_page(ledger: Ledger) -> None:
    ledger.append(troubles(2 * PAGE + 7))
    assert len(list(entries(ledger, Wanted()))) == 2 * PAGE + 7
    assert len(last_entries(ledger, Wanted(), PAGE + 1)) == PAGE + 1
    assert len(last_entries(ledger, Wanted(), 10 * PAGE)) == 2 * PAGE + 7


def test_a_boot_that_began_in_1970_is_dated_by_what_came_later(ledger: Ledger) -> None:
    """Recorded and repaired are both there; the flag that the clock was wrong stays."""
    ledger.append(
        [
            event(at=NOON, boot="first", monotonic_s=900),
            event(at=EPOCH, boot="second", monotonic_s=20, synchronised=False),
            event(at=EPOCH, boot="second", monotonic_s=80, synchronised=False),
            event(at=NOON + timedelta(days=1), boot="second", monotonic_s=140, offset=7200),
            event(at=EPOCH, boot="third", monotonic_s=10, synchronised=False),
        ]
    )
    found = list(entries(ledger, Wanted()))
    day = NOON + timedelta(days=1)
    assert [entry.when.utc for entry in found] == [
        NOON,
        day - timedelta(seconds=120),
        day - timedelta(seconds=60),
        day,
        EPOCH,
    ]
    assert [entry.when.repaired for entry in found] == [False, True, True, False, False]
    assert [entry.when.certain for entry in found] == [True, True, True, True, False]
    assert found[1].when.utc_offset_seconds == 7200
    assert found[1].record.event.utc == EPOCH
    assert not found[1].record.event.synchronised
    # Looked up by the repaired time, not by the recorded one.
    assert positions(ledger, Wanted(since=day - timedelta(seconds=90))) == [3, 4]
    assert positions(ledger, Wanted(until=NOON)) == [5]


def test_order_is_that_of_recording_whatever_the_clock_does(ledger: Ledger) -> None:
    times = [NOON, NOON - timedelta(days=400), NOON + timedelta(days=9), EPOCH]
    ledger.append([event(at=moment) for moment in times])
    assert [entry.record.event.utc for entry in entries(ledger, Wanted())] == times
