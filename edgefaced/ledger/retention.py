"""What is kept for how long, and taking the rest out of the chain so that it still holds.

Records are left out for their age or their number, kind by kind, but never before every lasting
sink has them; only the bound on the ledger's size is above that. A gap keeps the digest of the
last record in it, on which the next one stands.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from edgefaced.ledger import rows
from edgefaced.ledger.chain import Seals, same
from edgefaced.ledger.database import Database
from edgefaced.ledger.schema import BY_TIME, RECORDS

DAY_US = 86_400 * 1_000_000

PORTION = 2000
"""Records left out in one transaction: a purge must not hold up those who record."""


@dataclass(frozen=True, slots=True)
class Keep:
    """How long and how many; None sets no limit."""

    days: float | None = None
    records: int | None = None


@dataclass(frozen=True, slots=True)
class Retention:
    """`default` is for every kind that `kinds` does not name."""

    default: Keep = Keep()
    kinds: Mapping[str, Keep] = field(default_factory=dict)
    maximum_bytes: int | None = None
    """What the ledger may take at most, whoever still waits for its events."""

    def of(self, kind: str | None) -> Keep:
        """A redacted record has no kind."""
        return self.default if kind is None else self.kinds.get(kind, self.default)


@dataclass(frozen=True, slots=True)
class Purge:
    """Records left out, and per lasting sink those that it never got; `more` are due."""

    purged: int = 0
    lost: Mapping[str, int] = field(default_factory=dict)
    more: bool = False


def purge(
    database: Database,
    seals: Seals,
    retention: Retention,
    *,
    now_us: int | None,
    holders: Collection[str],
) -> Purge:
    """One portion of what is due. `holders` are the lasting sinks that are waited for.

    `now_us` is None where the wall clock is not synchronised: then nothing is old.
    """
    with database.writing() as db:
        cursors = rows.cursors(db)
        waiting = {name: cursors[name].position for name in holders if name in cursors}
        floor = min(waiting.values(), default=rows.head_row(db)[0].position)
        due = sorted(set(_due(db, retention, now_us, floor)))[:PORTION]
        leave_out(db, seals, due)
    if len(due) == PORTION:
        return Purge(len(due), more=True)
    return _shrink(database, seals, retention, waiting, len(due))


def _due(
    db: sqlite3.Connection, retention: Retention, now_us: int | None, floor: int
) -> Iterator[int]:
    """Positions up to `floor` that are too many or too old; nothing but indexes is read."""
    found = db.execute("SELECT kind, count(*) FROM records GROUP BY kind").fetchall()
    kinds_by_limit: dict[int, list[str | None]] = {}
    for kind, count in found:
        keep = retention.of(kind)
        if kind is not None and keep.records is not None:
            too_many = max(count - keep.records, 0)
            yield from _positions(db, kind, floor, min(too_many, PORTION))
        if keep.days is not None and now_us is not None:
            limit = now_us - round(keep.days * DAY_US)
            kinds_by_limit.setdefault(limit, []).append(kind)
    for limit, kinds in kinds_by_limit.items():
        yield from _dated_before(db, [kind for kind in kinds if kind is not None], limit, floor)
        last = min(floor, _undated_up_to(db, limit))
        for kind in kinds:
            yield from _positions(db, kind, last, PORTION, "AND happened_us IS NULL")


def _positions(
    db: sqlite3.Connection, kind: str | None, last: int, limit: int, condition: str = ""
) -> Iterator[int]:
    """The oldest of a kind."""
    found = db.execute(
        f"SELECT position FROM records WHERE kind IS ? AND position <= ? {condition}"  # noqa: S608 - fixed texts
        " ORDER BY position LIMIT ?",
        (kind, last, limit),
    )
    return (position for (position,) in found.fetchall())


def _by_time(db: sqlite3.Connection) -> str:
    """Records by the index of that name. SQLite would read every record instead, which takes
    seconds where there are many: a door's decision waits for whoever purges.
    """
    (index,) = db.execute(
        "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND name LIKE ?",
        (RECORDS, f"{BY_TIME}%"),
    ).fetchone()
    return f"{RECORDS} INDEXED BY {index}"


def _dated_before(
    db: sqlite3.Connection, kinds: Sequence[str], limit_us: int, floor: int
) -> Iterator[int]:
    marks = ", ".join("?" * len(kinds))
    found = db.execute(
        f"SELECT position FROM {_by_time(db)} WHERE happened_us < ? AND kind IN ({marks})"  # noqa: S608 - fixed texts
        " AND position <= ? LIMIT ?",
        (limit_us, *kinds, floor, PORTION),
    )
    return (position for (position,) in found.fetchall())


def _undated_up_to(db: sqlite3.Connection, limit_us: int) -> int:
    """Up to where records of a wrong clock are too old: such lie behind them, none that is not lies
    before them.
    """
    (old,) = db.execute(
        f"SELECT max(position) FROM {_by_time(db)} WHERE happened_us < ?",  # noqa: S608 - a fixed text
        (limit_us,),
    ).fetchone()
    if old is None:
        return 0
    (young,) = db.execute(
        f"SELECT min(position) FROM {_by_time(db)} WHERE happened_us >= ?",  # noqa: S608 - a fixed text
        (limit_us,),
    ).fetchone()
    return int(old if young is None else min(old, young))


def _shrink(
    database: Database, seals: Seals, retention: Retention, waiting: Mapping[str, int], purged: int
) -> Purge:
    """The oldest out, until a tenth below the bound; what sinks lose by that is counted."""
    used = database.used_bytes()
    if retention.maximum_bytes is None or used <= retention.maximum_bytes:
        return Purge(purged)
    with database.writing() as db:
        counts = dict(db.execute("SELECT kind, count(*) FROM records GROUP BY kind").fetchall())
        excess = 1 - 0.9 * retention.maximum_bytes / used
        too_many = min(PORTION, round(sum(counts.values()) * excess) + 1)
        found = _oldest(db, _dispensable(counts, retention), too_many)
        if not found:
            return Purge(purged)
        leave_out(db, seals, [position for position, _ in found])
        lost = {
            name: sum(position > cursor and not empty for position, empty in found)
            for name, cursor in waiting.items()
        }
        for name, events in lost.items():
            lose(db, name, events)
            rows.advance(db, name, _last_gone(db, waiting[name]))
    left = {name: events for name, events in lost.items() if events}
    return Purge(purged + len(found), left, more=database.used_bytes() > retention.maximum_bytes)


def _dispensable(counts: Mapping[str | None, int], retention: Retention) -> Collection[str | None]:
    """What goes first: not what is to be kept for longer than the rest (attendance, by default),
    which is always the oldest and would be all that goes. With little else, everything.
    """
    usual = retention.default.days or math.inf
    short = [kind for kind in counts if (retention.of(kind).days or math.inf) <= usual]
    few = sum(counts[kind] for kind in short) < sum(counts.values()) / 10
    return list(counts) if few else short


def _oldest(
    db: sqlite3.Connection, kinds: Collection[str | None], count: int
) -> list[tuple[int, bool]]:
    """Positions, and whether a record is empty: a redacted one has no kind."""
    last = rows.head_row(db)[0].position
    return sorted(
        (position, kind is None) for kind in kinds for position in _positions(db, kind, last, count)
    )[:count]


def _last_gone(db: sqlite3.Connection, cursor: int) -> int:
    """Up to where nothing is left behind a cursor."""
    (next_one,) = db.execute(
        "SELECT min(position) FROM records WHERE position > ?", (cursor,)
    ).fetchone()
    return rows.head_row(db)[0].position if next_one is None else int(next_one) - 1


def lose(db: sqlite3.Connection, sink: str, events: int) -> None:
    """Counts events that a sink will never get."""
    db.execute("UPDATE cursors SET lost = lost + ? WHERE sink = ?", (events, sink))


def leave_out(db: sqlite3.Connection, seals: Seals, positions: Sequence[int]) -> None:
    """Deletes records, oldest first, and keeps what the next ones stand on."""
    for first, last in runs(positions):
        (digest,) = db.execute("SELECT digest FROM records WHERE position = ?", (last,)).fetchone()
        db.execute("DELETE FROM records WHERE position BETWEEN ? AND ?", (first, last))
        _add_gap(db, seals, first, last, digest)
    # Marks repair what came before them: at the very beginning there is nothing left to repair.
    db.execute("DELETE FROM marks WHERE position <= (SELECT last FROM gaps WHERE first = 1)")


def runs(positions: Sequence[int]) -> Iterator[tuple[int, int]]:
    """First and last of each run of consecutive numbers; `positions` grow."""
    first = before = None
    for position in positions:
        if first is None or before is None or position != before + 1:
            if first is not None and before is not None:
                yield first, before
            first = position
        before = position
    if first is not None and before is not None:
        yield first, before


def _add_gap(db: sqlite3.Connection, seals: Seals, first: int, last: int, digest: bytes) -> None:
    """One gap with those that lie next to it; one of them that is not sealed makes it unsealed."""
    sealed = True
    for gap in db.execute(
        "SELECT first, last, digest, seal FROM gaps WHERE last = ? OR first = ?",
        (first - 1, last + 1),
    ).fetchall():
        other_first, other_last, other_digest, seal = gap
        sealed &= same(seal, seals.gap(other_first, other_last, other_digest))
        if other_last > last:
            last, digest = other_last, other_digest
        first = min(first, other_first)
        db.execute("DELETE FROM gaps WHERE first = ?", (other_first,))
    seal = seals.gap(first, last, digest) if sealed else None
    db.execute("INSERT INTO gaps VALUES (?, ?, ?, ?)", (first, last, digest, seal))
