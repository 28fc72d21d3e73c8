"""What goes for its age, its number or the ledger's size; what stays for a sink that waits."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from ledgers import NOON, event, seen, troubles

from edgefaced.events import Attended, CameraChanged, Happening, Trouble
from edgefaced.ledger.retention import Keep, Retention, runs
from edgefaced.ledger.rows import microseconds
from edgefaced.ledger.store import Ledger
from edgefaced.ledger.verify import verify
from edgefaced.types import Direction


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "events.db", create=True) as ledger:
        yield ledger


def kept(ledger: Ledger) -> list[int]:
    assert verify(ledger).clean
    return [record.position for record in ledger.after(0, limit=100_000)]


def test_the_oldest_of_a_kind_go_when_there_are_too_many(ledger: Ledger) -> None:
    ledger.append([*troubles(5), event(), event(), *troubles(5), event()])
    retention = Retention(Keep(records=2), {"trouble": Keep(records=3)})
    assert ledger.purge(retention, now_us=None, holders=()).purged == 8
    assert kept(ledger) == [7, 10, 11, 12, 13]
    assert ledger.purge(retention, now_us=None, holders=()).purged == 0


def test_what_is_too_old_goes_kind_by_kind(ledger: Ledger) -> None:
    ledger.append(troubles(10, days_apart=1))
    ledger.append([event(at=NOON)])
    now = microseconds(NOON + timedelta(days=9))
    retention = Retention(Keep(days=3.5), {"face": Keep(days=30)})
    assert ledger.purge(retention, now_us=now, holders=()).purged == 6
    assert kept(ledger) == [7, 8, 9, 10, 11]


def test_nothing_is_old_while_nobody_knows_the_time(ledger: Ledger) -> None:
    ledger.append(troubles(10, days_apart=1))
    assert ledger.purge(Retention(Keep(days=1)), now_us=None, holders=()).purged == 0


def test_records_of_a_wrong_clock_are_as_old_as_their_neighbours(ledger: Ledger) -> None:
    epoch = NOON - timedelta(days=20_000)
    ledger.append(
        [
            event(at=NOON),
            event(at=epoch, synchronised=False),
            event(at=NOON + timedelta(days=1)),
            event(at=epoch, synchronised=False),
            event(at=NOON + timedelta(days=9)),
        ]
    )
    now = microseconds(NOON + timedelta(days=9))
    assert ledger.purge(Retention(Keep(days=5)), now_us=now, holders=()).purged == 3
    assert kept(ledger) == [4, 5], "1970 is not old, what lies before something old is"


def test_one_time_that_is_wrong_takes_no_other_record_along(ledger: Ledger) -> None:
    last_year, next_century = NOON - timedelta(days=400), NOON + timedelta(days=30_000)
    ledger.append([event(at=NOON), event(at=next_century), event(at=last_year), event(at=NOON)])
    now = microseconds(NOON + timedelta(days=1))
    assert ledger.purge(Retention(Keep(days=5)), now_us=now, holders=()).purged == 1
    assert kept(ledger) == [1, 2, 4]


def test_nothing_goes_that_a_sink_still_has_to_get(ledger: Ledger) -> None:
    ledger.settle_cursors(["mqtt", "webhook", "gone"])
    ledger.append(troubles(10))
    ledger.advance("mqtt", 4)
    ledger.advance("webhook", 9)
    retention = Retention(Keep(records=1))
    assert ledger.purge(retention, now_us=None, holders=["mqtt", "webhook"]).purged == 4
    assert ledger.purge(retention, now_us=None, holders=["webhook"]).purged == 5
    assert kept(ledger) == [10]


def test_the_bound_on_its_size_is_above_all_and_what_is_lost_is_counted(ledger: Ledger) -> None:
    ledger.settle_cursors(["mqtt", "webhook"])
    for _ in range(20):
        ledger.append([event(Trouble("x", "y" * 2000)) for _ in range(100)])
    ledger.advance("mqtt", 500)
    ledger.advance("webhook", 2000)
    bound = ledger.database.used_bytes() // 2
    lost: dict[str, int] = {}
    purged, more = 0, True
    while more:
        done = ledger.purge(
            Retention(maximum_bytes=bound), now_us=None, holders=["mqtt", "webhook"]
        )
        purged, more = purged + done.purged, done.more
        for name, events in done.lost.items():
            lost[name] = lost.get(name, 0) + events
    assert ledger.database.used_bytes() <= bound
    assert purged < 1500, "not much more than has to go"
    assert lost == {"mqtt": purged - 500}
    cursors = ledger.cursors()
    assert (cursors["mqtt"].position, cursors["mqtt"].lost) == (purged, purged - 500)
    assert (cursors["webhook"].position, cursors["webhook"].lost) == (2000, 0)
    assert kept(ledger)[0] == purged + 1
    assert ledger.purge(Retention(maximum_bytes=bound), now_us=None, holders=()).purged == 0


def test_what_is_kept_longest_goes_last_for_the_ledgers_size(ledger: Ledger) -> None:
    attended = [event(Attended("ann", Direction.IN, "device", str(i))) for i in range(300)]
    ledger.append(attended)
    for _ in range(3):
        ledger.append(troubles(600))
    ledger.settle_cursors(["mqtt"])
    ledger.append([*troubles(20), event(attended[0].happening), *troubles(20)])
    bound = ledger.database.used_bytes() // 2
    retention = Retention(Keep(days=90), {"attendance": Keep(days=730)}, bound)
    while ledger.purge(retention, now_us=None, holders=["mqtt"]).more:
        pass
    left = [record.event.happening for record in ledger.after(0, limit=10_000)]
    assert sum(isinstance(happening, Attended) for happening in left) == 301
    assert ledger.database.used_bytes() <= bound
    assert verify(ledger).clean
    # With nothing else worth the name, it is the oldest all the same; a sink still gets the rest.
    retention = Retention(Keep(days=90), {"attendance": Keep(days=730)}, bound // 8)
    ledger.append([event(attended[1].happening)])
    lost = 0
    while (done := ledger.purge(retention, now_us=None, holders=["mqtt"])).more or done.purged:
        lost += done.lost.get("mqtt", 0)
    assert len(ledger.after(0, limit=10_000)) < 301
    cursor = ledger.cursors()["mqtt"]
    assert cursor.lost == lost
    assert len(ledger.after(cursor.position)) + lost == 42
    assert verify(ledger).clean


def test_an_empty_ledger_can_be_no_smaller(ledger: Ledger) -> None:
    done = ledger.purge(Retention(maximum_bytes=1), now_us=None, holders=())
    assert (done.purged, done.more) == (0, False)


def test_many_go_in_portions(ledger: Ledger) -> None:
    for _ in range(5):
        ledger.append(troubles(1000))
    purged, rounds, more = 0, 0, True
    while more:
        done = ledger.purge(Retention(Keep(records=10)), now_us=None, holders=())
        purged, more, rounds = purged + done.purged, done.more, rounds + 1
    assert (purged, rounds) == (4990, 3)
    assert kept(ledger) == list(range(4991, 5001))


def test_the_chain_holds_whatever_goes(ledger: Ledger) -> None:
    rng = random.Random(5)
    kinds: list[Happening] = [seen(), Trouble("a", "b"), CameraChanged(True, "c")]
    for _ in range(30):
        ledger.append([event(rng.choice(kinds)) for _ in range(rng.randint(1, 40))])
        limits = {kind: Keep(records=rng.randint(1, 60)) for kind in ("face", "trouble", "camera")}
        ledger.purge(Retention(kinds=limits), now_us=None, holders=())
        verdict = verify(ledger)
        assert verdict.clean
        assert verdict.records + verdict.purged == ledger.head().position


def test_runs_of_numbers() -> None:
    assert list(runs([])) == []
    assert list(runs([3])) == [(3, 3)]
    assert list(runs([1, 2, 3, 5, 7, 8])) == [(1, 3), (5, 5), (7, 8)]


def test_a_purge_reads_no_record_that_stays(ledger: Ledger) -> None:
    """A decision waits for it: with 300,000 records it would be seconds."""
    ledger.append(troubles(20, days_apart=1))
    now = microseconds(NOON + timedelta(days=9))
    retention = Retention(Keep(days=3.5, records=100), maximum_bytes=10**9)
    ledger.purge(retention, now_us=now, holders=())
    asked: list[str] = []
    ledger.database.connection.set_trace_callback(asked.append)
    ledger.purge(retention, now_us=now, holders=())
    ledger.database.connection.set_trace_callback(None)
    searches = [statement for statement in asked if "FROM records" in statement]
    assert len(searches) >= 4, asked
    for search in searches:
        plan = ledger.database.connection.execute(f"EXPLAIN QUERY PLAN {search}").fetchall()
        undated = "IS NULL" in search  # looked for among the oldest of a kind only
        assert all("COVERING INDEX" in step[3] or undated for step in plan), (search, plan)
