"""A person is forgotten: nothing of them is in the files, and the chain still holds."""

from __future__ import annotations

from pathlib import Path

from ledgers import ANN, BOB, event, seen, troubles

from edgefaced.events import RecordsRedacted
from edgefaced.ledger.reading import Wanted, entries
from edgefaced.ledger.redaction import redact_person
from edgefaced.ledger.retention import Keep, Retention
from edgefaced.ledger.store import Ledger
from edgefaced.ledger.verify import verify


def remains(folder: Path, what: str) -> int:
    return sum(file.read_bytes().count(what.encode()) for file in folder.iterdir())


def test_nothing_of_the_person_is_left_in_the_files(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "events.db", create=True) as ledger:
        for n in range(40):
            ledger.append([event(seen(ANN)), event(seen(BOB)), *troubles(3, first=n)])
        assert remains(tmp_path, ANN) > 0
        done = redact_person(ledger, ANN, "door")
        assert (done.records, done.scrubbed) == (40, True)
        assert remains(tmp_path, ANN) == 0
        assert remains(tmp_path, BOB) > 0
        verdict = verify(ledger)
        assert verdict.clean
        assert verdict.redacted == 40
        assert not list(entries(ledger, Wanted(person_id=ANN)))
        assert not ledger.knows_person(ANN)
        assert len(list(entries(ledger, Wanted(person_id=BOB)))) == 40


def test_that_it_was_done_is_recorded_and_not_of_whom(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "events.db", create=True) as ledger:
        ledger.append([event(seen(ANN)), *troubles(2)])
        redact_person(ledger, ANN, "office")
        last = ledger.after(3)[-1].event
        assert (last.happening, last.camera) == (RecordsRedacted(1), "office")
        assert redact_person(ledger, ANN, "office").records == 0
        assert ledger.head().position == 4, "nothing to tell"


def test_sinks_that_waited_for_it_have_lost_it(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "events.db", create=True) as ledger:
        ledger.settle_cursors(["mqtt"])
        ledger.append([event(seen(ANN)), event(seen(ANN)), event(seen(BOB)), event(seen(ANN))])
        ledger.advance("mqtt", 1)
        redact_person(ledger, ANN, "door")
        assert ledger.cursors()["mqtt"].lost == 2
        assert [r.position for r in ledger.after(1)] == [3, 5]


def test_while_somebody_reads_the_remains_are_for_later(tmp_path: Path) -> None:
    path = tmp_path / "events.db"
    with Ledger.open(path, create=True) as ledger, Ledger.open(path, busy_seconds=0) as other:
        ledger.append([event(seen(ANN))])
        with other.database.reading() as db:
            db.execute("SELECT count(*) FROM records").fetchone()
            with Ledger.open(path, busy_seconds=0.05) as hasty:
                assert not redact_person(hasty, ANN, "door").scrubbed
        assert redact_person(ledger, ANN, "door").scrubbed
        assert remains(tmp_path, ANN) == 0


def test_redacted_records_are_purged_like_others(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "events.db", create=True) as ledger:
        ledger.append([event(seen(ANN)), *troubles(5)])
        redact_person(ledger, ANN, "door")
        ledger.purge(Retention(Keep(days=1)), now_us=2_000_000_000_000_000, holders=())
        verdict = verify(ledger)
        assert verdict.clean
        assert verdict.redacted == 0
