"""Whether the ledger is what was written: every record, every gap, the end of the chain, its seal.

Found by anybody who has the file: records that were edited, removed from the middle, moved, or cut
off at the end without care. Found with the key: a chain that was rewritten from some record on, or
cut off with care. Not found from within: an older copy of the whole file put in place of it; an
end noted elsewhere (`expected`) finds that too.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, replace

from edgefaced.errors import LedgerDamaged
from edgefaced.events import Unknown
from edgefaced.ledger import rows
from edgefaced.ledger.chain import Seals, content_of, digest_of, genesis, same
from edgefaced.ledger.codec import decode
from edgefaced.ledger.records import Head
from edgefaced.ledger.store import Ledger


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong and where; position 0 is the ledger as a whole."""

    position: int
    what: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was looked at, and every fault that was found."""

    records: int
    redacted: int
    purged: int
    head: Head
    faults: tuple[Fault, ...]

    @property
    def clean(self) -> bool:
        return not self.faults


@dataclass(frozen=True, slots=True)
class _Link:
    """Where the walk along the chain is."""

    position: int
    digest: bytes
    records: int = 0
    redacted: int = 0
    purged: int = 0


def verify(ledger: Ledger, expected: Head | None = None) -> Verdict:
    """Reads everything. `expected` is an end that was noted elsewhere: it must be in the chain."""
    faults: list[Fault] = []
    with ledger.database.reading() as db:
        for (line,) in db.execute("PRAGMA integrity_check").fetchall():
            if line != "ok":
                faults.append(Fault(0, f"database: {line}"))
        head, seal = rows.head_row(db)
        ledger_id = rows.get_meta(db, "ledger_id") or b""
        link = _Link(0, genesis(ledger_id))
        met = expected is None or expected == Head(0, link.digest)
        for step in _steps(db):
            link, wrong = step.follow(link, ledger.seals)
            faults += wrong
            met |= expected == Head(link.position, link.digest)
        faults += _end(link, head, seal, ledger)
        faults += _marks(db, ledger.seals)
    if not met:
        assert expected is not None  # noqa: S101 - else it would have been met
        in_gap = expected.position < link.position and not _kept(ledger, expected.position)
        what = "was purged meanwhile" if in_gap else "is not in the chain"
        faults.append(Fault(expected.position, f"the end that was noted {what}"))
    return Verdict(link.records, link.redacted, link.purged, head, tuple(faults))


@dataclass(frozen=True, slots=True)
class _Row:
    """A record as it is stored."""

    position: int
    id: str | None
    kind: str | None
    person: str | None
    happened_us: int | None
    salt: bytes | None
    body: bytes | None
    content: bytes
    digest: bytes
    redaction: bytes | None

    def follow(self, link: _Link, seals: Seals) -> tuple[_Link, list[Fault]]:
        faults = _missing(link, self.position)
        if self.body is None:
            if seals.possible and not same(
                self.redaction, seals.redaction(self.position, self.digest)
            ):
                faults.append(Fault(self.position, "its content was removed, not redacted"))
        else:
            faults += self._content()
        if not faults and digest_of(link.digest, self.position, self.content) != self.digest:
            faults.append(
                Fault(self.position, "does not follow the record before: moved or rewritten")
            )
        after = replace(
            link,
            position=self.position,
            digest=self.digest,
            records=link.records + 1,
            redacted=link.redacted + (self.body is None),
        )
        return after, faults

    def _content(self) -> list[Fault]:
        if content_of(self.salt or b"", self.body or b"") != self.content:
            return [Fault(self.position, "was edited")]
        try:
            event = decode(self.body or b"")
        except LedgerDamaged as error:
            return [Fault(self.position, error.message)]
        event_id, kind, person, happened_us = rows.sought(event)
        if isinstance(event.happening, Unknown):
            person = self.person  # only the version that wrote it knows where it names somebody
        filed = (self.id, self.kind, self.person, self.happened_us)
        if (event_id, kind, person, happened_us) != filed:
            return [Fault(self.position, "is filed as something else than it says")]
        return []


@dataclass(frozen=True, slots=True)
class _Gap:
    """A run of purged records."""

    position: int
    last: int
    digest: bytes
    seal: bytes | None

    def follow(self, link: _Link, seals: Seals) -> tuple[_Link, list[Fault]]:
        faults = _missing(link, self.position)
        if seals.possible and not same(self.seal, seals.gap(self.position, self.last, self.digest)):
            faults.append(Fault(self.position, f"to {self.last}: removed, not purged"))
        purged = link.purged + self.last - self.position + 1
        return replace(link, position=self.last, digest=self.digest, purged=purged), faults


def _steps(db: sqlite3.Connection) -> Iterator[_Row | _Gap]:
    """Records and gaps in the order of their positions."""
    gaps = [_Gap(*row) for row in db.execute("SELECT * FROM gaps ORDER BY first DESC").fetchall()]
    for row in (_Row(*found) for found in db.execute("SELECT * FROM records ORDER BY 1")):
        while gaps and gaps[-1].position < row.position:
            yield gaps.pop()
        yield row
    yield from reversed(gaps)


def _missing(link: _Link, position: int) -> list[Fault]:
    """Positions between two steps that are neither there nor purged."""
    if position == link.position + 1:
        return []
    if position <= link.position:
        return [Fault(position, "is there and purged at the same time")]
    last = position - 1
    until = "" if last == link.position + 1 else f" to {last}"
    return [Fault(link.position + 1, f"removed{until}")]


def _end(link: _Link, head: Head, seal: bytes | None, ledger: Ledger) -> list[Fault]:
    faults = []
    if link.position < head.position:
        faults.append(
            Fault(link.position + 1, f"the end was cut off: it was at record {head.position}")
        )
    elif (link.position, link.digest) != (head.position, head.digest):
        faults.append(Fault(link.position, "is not the end that was written"))
    if not ledger.seals.possible:
        faults.append(Fault(0, f"the seal cannot be checked: {ledger.key_fault}"))
    elif not same(seal, ledger.seals.head(head.position, head.digest)):
        faults.append(
            Fault(head.position, "the seal of the end is broken: rewritten or cut off before it")
        )
    return faults


def _marks(db: sqlite3.Connection, seals: Seals) -> Iterator[Fault]:
    if not seals.possible:
        return
    for boot, position, *rest, seal in db.execute(
        "SELECT boot, position, monotonic_ns, utc_us, utc_offset_seconds, seal FROM marks"
    ).fetchall():
        if not same(seal, seals.mark(boot, *rest)):
            yield Fault(position, "the mark by which dates are repaired was edited")


def _kept(ledger: Ledger, position: int) -> bool:
    with ledger.database.reading() as db:
        found = db.execute("SELECT 1 FROM records WHERE position = ?", (position,)).fetchone()
    return found is not None
