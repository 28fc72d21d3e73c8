"""What `verify` finds, and what only the key lets it find."""

from __future__ import annotations

import dataclasses
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from ledgers import ANN, BOB, event, seen, tamper, troubles

from edgefaced.errors import LedgerDamaged
from edgefaced.events import DecisionMade, Unknown
from edgefaced.ledger.chain import content_of, digest_of
from edgefaced.ledger.codec import encode
from edgefaced.ledger.records import Head
from edgefaced.ledger.redaction import redact_person
from edgefaced.ledger.retention import Keep, Retention
from edgefaced.ledger.store import Ledger, key_file_of
from edgefaced.ledger.verify import Verdict, verify

Change = Callable[[sqlite3.Connection], object]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger of 40 records: 10 of a person, the 20 oldest of trouble purged, some redacted."""
    path = tmp_path / "events.db"
    with Ledger.open(path, create=True) as ledger:
        ledger.append(troubles(25))
        ledger.append([event(seen(ANN)) for _ in range(5)])
        ledger.append([event(seen(BOB)) for _ in range(5)])
        ledger.append(troubles(4, first=100))
        redact_person(ledger, BOB, "door")
        ledger.purge(Retention(kinds={"trouble": Keep(records=9)}), now_us=None, holders=())
        assert verify(ledger).clean
    return path


def judged(path: Path, expected: Head | None = None) -> Verdict:
    with Ledger.open(path) as ledger:
        return verify(ledger, expected)


def said(path: Path, expected: Head | None = None) -> str:
    return "; ".join(f"{fault.position} {fault.what}" for fault in judged(path, expected).faults)


def sql(*statements: str) -> Change:
    def change(db: sqlite3.Connection) -> None:
        for statement in statements:
            db.execute(statement)

    return change


def test_an_untouched_one_is_clean(path: Path) -> None:
    verdict = judged(path)
    assert (verdict.records, verdict.redacted, verdict.purged) == (20, 5, 20)
    assert verdict.head.position == 40
    assert judged(path, verdict.head).clean


def test_what_a_newer_version_has_filed_under_a_person_is_no_fault(path: Path) -> None:
    made = event(seen(ANN))
    body = encode(made).replace(b'"kind":"face"', b'"kind":"levitation"')
    with Ledger.open(path) as ledger:
        ledger.append([dataclasses.replace(made, happening=Unknown("levitation", body.decode()))])
    tamper(path, sql("UPDATE records SET person = 'ann' WHERE kind = 'levitation'"))
    assert judged(path).clean
    tamper(path, sql("UPDATE records SET kind = 'face' WHERE kind = 'levitation'"))
    assert "filed as something else" in said(path)


def test_an_empty_one_is_clean(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "events.db", create=True) as ledger:
        assert verify(ledger).clean
        assert verify(ledger, ledger.head()).clean


FORGERIES = {
    "an edited body": (
        sql(
            "UPDATE records SET body = cast(replace(cast(body AS TEXT), '\"score\":0.7',"
            " '\"score\":0.9') AS BLOB) WHERE position = 27"
        ),
        "27 was edited",
    ),
    "another salt": (sql("UPDATE records SET salt = zeroblob(16) WHERE position = 27"), "27 was"),
    "filed under somebody else": (
        sql("UPDATE records SET person = 'somebody' WHERE position = 27"),
        "27 is filed as something else",
    ),
    "filed under another time": (
        sql("UPDATE records SET happened_us = 5 WHERE position = 27"),
        "27 is filed as something else",
    ),
    "a removed record": (sql("DELETE FROM records WHERE position = 27"), "27 removed"),
    "two removed records": (
        sql("DELETE FROM records WHERE position IN (27, 28)"),
        "27 removed to 28",
    ),
    "two records exchanged": (
        sql(
            "UPDATE records SET position = -1 WHERE position = 27",
            "UPDATE records SET position = 27 WHERE position = 28",
            "UPDATE records SET position = 28 WHERE position = -1",
        ),
        "27 does not follow the record before: moved or rewritten",
    ),
    "the last record gone": (
        sql("DELETE FROM records WHERE position = 40"),
        "40 the end was cut off: it was at record 40",
    ),
    "the end cut off with care": (
        sql(
            "DELETE FROM records WHERE position > 37",
            "UPDATE head SET position = 37,"
            " digest = (SELECT digest FROM records WHERE position = 37)",
        ),
        "37 the seal of the end is broken",
    ),
    "a record added by hand": (
        sql(
            "INSERT INTO records SELECT 41, 'x', kind, person, happened_us, salt, body, content,"
            " digest, NULL FROM records WHERE position = 27"
        ),
        "41",
    ),
    "a record removed and called purged": (
        sql(
            "INSERT INTO gaps SELECT 27, 27, digest, zeroblob(32) FROM records WHERE position = 27",
            "DELETE FROM records WHERE position = 27",
        ),
        "27 to 27: removed, not purged",
    ),
    "the gap made longer": (
        sql(
            "UPDATE gaps SET last = 21, digest = (SELECT digest FROM records WHERE position = 21)",
            "DELETE FROM records WHERE position = 21",
        ),
        "1 to 21: removed, not purged",
    ),
    "a gap over what is there": (
        sql("INSERT INTO gaps VALUES (27, 27, zeroblob(32), NULL)"),
        "27 is there and purged at the same time",
    ),
    "a gap taken away": (sql("DELETE FROM gaps"), "1 removed to 20"),
    "a body removed and called redacted": (
        sql(
            "UPDATE records SET body = NULL, salt = NULL, id = NULL, kind = NULL, person = NULL,"
            " redaction = zeroblob(32) WHERE position = 27"
        ),
        "27 its content was removed, not redacted",
    ),
    "a mark edited": (
        sql("UPDATE marks SET utc_us = utc_us + 1"),
        "the mark by which dates are repaired was edited",
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_what_was_forged_without_the_key_is_found(path: Path, name: str) -> None:
    change, words = FORGERIES[name]
    with Ledger.open(path) as ledger, ledger.database.writing() as db:
        # Marks of the very beginning went with the purge: one more boot.
        db.execute("DELETE FROM marks")
        db.execute(
            "INSERT INTO marks VALUES ('boot', 30, 0, 0, 0, ?)",
            (ledger.seals.mark("boot", 0, 0, 0),),
        )
    assert judged(path).clean
    tamper(path, change)
    assert words in said(path)


def rewritten(db: sqlite3.Connection) -> None:
    """Edits record 27 and everything after it as the ledger would have, but for seals."""
    (before,) = db.execute("SELECT digest FROM records WHERE position = 26").fetchone()
    for position in range(27, 41):
        salt, body, content = db.execute(
            "SELECT salt, body, content FROM records WHERE position = ?", (position,)
        ).fetchone()
        if position == 27:
            body = body.replace(b'"score":0.7', b'"score":0.9')
            content = content_of(salt, body)
        before = digest_of(before, position, content)
        db.execute(
            "UPDATE records SET body = ?, content = ?, digest = ?, redaction = redaction"
            " WHERE position = ?",
            (body, content, before, position),
        )
    db.execute("UPDATE head SET digest = ?", (before,))


def test_a_chain_that_was_rewritten_has_no_seal(path: Path) -> None:
    tamper(path, rewritten)
    assert "40 the seal of the end is broken" in said(path)


@pytest.mark.parametrize("change", [rewritten, FORGERIES["the end cut off with care"][0]])
def test_what_comes_after_a_forgery_does_not_seal_it(path: Path, change: Change) -> None:
    tamper(path, change)
    with Ledger.open(path) as ledger:
        ledger.append(troubles(3, first=200))
        ledger.append(troubles(3, first=300))
    assert "the seal of the end is broken" in said(path)


def test_a_purge_does_not_seal_a_forged_gap(path: Path) -> None:
    tamper(path, FORGERIES["the gap made longer"][0])
    with Ledger.open(path) as ledger:
        done = ledger.purge(Retention(kinds={"trouble": Keep(records=1)}), now_us=None, holders=())
        assert done.purged > 0
    assert "removed, not purged" in said(path)


def test_without_the_key_the_chain_is_followed_and_the_seal_is_in_doubt(path: Path) -> None:
    key_file_of(path).unlink()
    faults = judged(path).faults
    assert [fault.position for fault in faults] == [0]
    assert "the seal cannot be checked" in faults[0].what
    tamper(path, sql("DELETE FROM records WHERE position = 27"))
    assert "27 removed" in said(path)


def test_an_older_copy_is_found_by_an_end_that_was_noted(path: Path) -> None:
    shutil.copy(path, path.with_name("copy.db"))
    with Ledger.open(path) as ledger:
        ledger.append(troubles(2))
        noted = ledger.head()
    assert judged(path, noted).clean
    path.with_name("copy.db").replace(path)
    for left in ("-wal", "-shm"):
        path.with_name(f"events.db{left}").unlink(missing_ok=True)
    assert judged(path).clean, "from within nobody can tell"
    assert "42 the end that was noted is not in the chain" in said(path, noted)
    assert "30 the end that was noted is not" in said(path, Head(30, bytes(32)))


def test_an_end_that_was_purged_meanwhile_is_no_forgery_but_said(path: Path) -> None:
    with Ledger.open(path) as ledger:
        noted = next(Head(r.position, r.digest) for r in ledger.after(20))
        assert isinstance(ledger.after(25)[0].event.happening, DecisionMade)
        ledger.purge(Retention(kinds={"trouble": Keep(records=2)}), now_us=None, holders=())
    assert "was purged meanwhile" in said(path, noted)


def test_pages_that_are_torn_are_said(path: Path) -> None:
    with Ledger.open(path) as ledger:
        ledger.append(troubles(400))
    content = bytearray(path.read_bytes())
    for end in range(4 * 4096, len(content), 4096):
        content[end - 300 : end] = bytes(300)
    path.write_bytes(content)
    with suppress(LedgerDamaged):  # where SQLite itself cannot go on
        assert not judged(path).clean
