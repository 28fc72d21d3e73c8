"""Appending, reading on, cursors: what every sink and the command line stand on."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest
from ledgers import event, seen, tamper, troubles

from edgefaced.errors import (
    LedgerBusy,
    LedgerDamaged,
    LedgerError,
    LedgerMissing,
    LedgerTooNew,
)
from edgefaced.events import Trouble
from edgefaced.ledger.records import Cursor
from edgefaced.ledger.store import Ledger, key_file_of
from edgefaced.ledger.verify import verify


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "events.db"


def test_there_is_none_before_somebody_records(path: Path) -> None:
    with pytest.raises(LedgerMissing):
        Ledger.open(path)


def test_events_come_back_in_their_order_after_it_was_closed(path: Path) -> None:
    made = [event(seen()), *troubles(5)]
    with Ledger.open(path, create=True) as ledger:
        first = ledger.append(made[:2])
        ledger.append(made[2:])
        assert [r.position for r in first] == [1, 2]
    with Ledger.open(path) as ledger:
        records = ledger.after(0)
        assert [r.event for r in records] == made
        assert [r.position for r in records] == [1, 2, 3, 4, 5, 6]
        assert [r.position for r in ledger.after(4)] == [5, 6]
        assert [r.position for r in ledger.after(0, limit=2)] == [1, 2]
        assert ledger.after(6) == ()
        assert (ledger.head().position, ledger.head().digest) == (6, records[-1].digest)
        assert len({r.digest for r in records}) == 6


def test_nobody_else_may_read_it(path: Path) -> None:
    with Ledger.open(path, create=True):
        modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
    assert set(modes.values()) == {0o600}
    assert {"events.db", "events.key"} <= set(modes)


def test_an_event_is_recorded_once_whoever_tries_again(path: Path) -> None:
    made = troubles(3)
    with Ledger.open(path, create=True) as ledger:
        first = ledger.append(made[:2])
        again = ledger.append(made)
        assert again[:2] == first
        assert ledger.head().position == 3
        assert verify(ledger).clean


def test_all_or_none_are_recorded(path: Path) -> None:
    with Ledger.open(path, create=True) as ledger:
        with pytest.raises(TypeError):
            ledger.append([event(), event(Trouble("x", object()))])  # type: ignore[arg-type]
        assert ledger.head().position == 0
        assert ledger.append([]) == ()


def test_a_cursor_never_goes_back(path: Path) -> None:
    with Ledger.open(path, create=True) as ledger:
        ledger.append(troubles(5))
        assert ledger.position_of("mqtt") == 0
        ledger.advance("mqtt", 3)
        ledger.advance("mqtt", 2)
        assert ledger.position_of("mqtt") == 3
        assert ledger.cursors() == {"mqtt": Cursor(3, 0)}


def test_new_sinks_begin_at_the_head_and_old_ones_are_forgotten(path: Path) -> None:
    with Ledger.open(path, create=True) as ledger:
        ledger.append(troubles(5))
        ledger.settle_cursors(["mqtt", "clerk"])
        ledger.append(troubles(2))
        ledger.settle_cursors(["mqtt", "webhook"])
        found = {name: cursor.position for name, cursor in ledger.cursors().items()}
        assert found == {"mqtt": 5, "webhook": 7}


def test_an_answer_and_the_cursor_are_one(path: Path) -> None:
    with Ledger.open(path, create=True) as ledger, Ledger.open(path) as rival:
        ledger.append(troubles(2))
        assert [r.position for r in ledger.append_and_advance(troubles(1), "clerk", 1)] == [3]
        assert rival.append_and_advance(troubles(1), "clerk", 1) == (), "answered already"
        bad = event(Trouble("x", object()))  # type: ignore[arg-type]  # on purpose
        with pytest.raises(TypeError):
            ledger.append_and_advance([bad], "clerk", 2)
        assert ledger.position_of("clerk") == 1
        assert ledger.head().position == 3


def test_two_threads_take_turns(path: Path) -> None:
    with Ledger.open(path, create=True):
        pass

    def work(number: int) -> None:
        with Ledger.open(path) as own:
            for batch in range(30):
                own.append(troubles(3, first=1000 * number + batch))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Ledger.open(path) as ledger:
        verdict = verify(ledger)
        assert verdict.clean
        assert verdict.records == 270


def test_a_lock_that_is_held_is_said(path: Path) -> None:
    with (
        Ledger.open(path, create=True) as ledger,
        Ledger.open(path, busy_seconds=0.05) as waiting,
        ledger.database.writing(),
        pytest.raises(LedgerBusy),
    ):
        waiting.append(troubles(1))


def test_other_files_are_refused_and_left_alone(path: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.db"
    text.write_text("not a database, and longer than a header is\n" * 50)
    other = tmp_path / "other.db"
    tamper(other, lambda db: db.execute("CREATE TABLE x (y)"))
    for wrong in (text, other):
        before = wrong.read_bytes()
        with pytest.raises(LedgerDamaged):
            Ledger.open(wrong)
        assert wrong.read_bytes() == before
    with Ledger.open(path, create=True):
        pass
    tamper(path, lambda db: db.execute("PRAGMA user_version = 99"))
    with pytest.raises(LedgerTooNew):
        Ledger.open(path)


def test_a_ledger_without_its_parts_is_damaged(path: Path) -> None:
    with Ledger.open(path, create=True) as ledger:
        ledger.append(troubles(1))
    tamper(path, lambda db: db.execute("DELETE FROM head"))
    with Ledger.open(path) as ledger, pytest.raises(LedgerDamaged, match="no head"):
        ledger.append(troubles(1))
    tamper(path, lambda db: db.execute("DELETE FROM meta"))
    with pytest.raises(LedgerDamaged, match="no id"):
        Ledger.open(path)


def test_a_record_that_cannot_be_read_holds_up_nobody(path: Path) -> None:
    with Ledger.open(path, create=True) as ledger:
        ledger.append(troubles(4))
        tamper(path, lambda db: db.execute("UPDATE records SET body = x'00' WHERE position < 3"))
        assert [r.position for r in ledger.after(0, limit=1)] == [3]
        assert [r.position for r in ledger.after(0)] == [3, 4]


def test_a_file_that_was_moved_away_is_noticed(path: Path) -> None:
    with Ledger.open(path, create=True) as ledger:
        path.rename(path.with_name("old.db"))
        with pytest.raises(LedgerError, match="replaced or deleted"):
            ledger.append(troubles(1))


def test_the_log_of_a_file_that_was_taken_away_is_not_the_next_ones(path: Path) -> None:
    with Ledger.open(path, create=True) as ledger:
        ledger.append(troubles(5))
        path.rename(path.with_name("old.db"))
        with Ledger.open(path, create=True) as new:
            assert new.head().position == 0
            assert new.id != ledger.id
            new.append(troubles(1))
            assert verify(new).clean
    kept = [file for file in path.parent.iterdir() if "orphan" in file.name]
    assert len(kept) == 1
    kept[0].rename(path.with_name("old.db-wal"))
    key_file_of(path).rename(key_file_of(path).with_name("old.key"))
    with Ledger.open(path.with_name("old.db")) as old:
        assert verify(old).clean
        assert old.head().position == 5


def test_without_its_key_it_is_used_and_says_so(path: Path) -> None:
    with Ledger.open(path, create=True) as ledger:
        ledger.append(troubles(1))
    key_file_of(path).unlink()
    with Ledger.open(path, create=True) as ledger:
        assert "is missing" in ledger.key_fault
        ledger.append(troubles(1))
        assert not verify(ledger).clean
    key_file_of(path).write_bytes(bytes(32))
    key_file_of(path).chmod(0o600)
    with Ledger.open(path) as ledger:
        assert "not the key of this ledger" in ledger.key_fault


def test_a_folder_that_takes_no_file_is_said(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    with pytest.raises(LedgerError):
        Ledger.open(blocked / "events.db", create=True)


def test_it_has_the_settings_that_make_it_durable(path: Path) -> None:
    with Ledger.open(path, create=True) as ledger, ledger.database.writing() as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert db.execute("PRAGMA synchronous").fetchone() == (2,), "FULL"
        assert db.execute("PRAGMA secure_delete").fetchone() == (1,)


def test_a_fault_of_ours_stays_one(path: Path) -> None:
    ledger = Ledger.open(path, create=True)
    ledger.close()
    with pytest.raises(sqlite3.ProgrammingError):
        ledger.append(troubles(1))
