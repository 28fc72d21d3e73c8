"""The values of the ledger."""

from __future__ import annotations

from dataclasses import dataclass

from edgefaced.events import Event


@dataclass(frozen=True, slots=True)
class Record:
    """An event at its place; positions grow by one, whatever the clocks say."""

    position: int
    event: Event
    digest: bytes


@dataclass(frozen=True, slots=True)
class Head:
    """The last place of the chain; 0 before the first record."""

    position: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far a lasting sink has got, and how many events were purged before it had them."""

    position: int
    lost: int
