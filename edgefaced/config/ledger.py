"""How long what happened is kept."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from edgefaced.config.section import Section
from edgefaced.config.sinks import Kind

Days = Annotated[float, Field(ge=0, le=36_500)]
Records = Annotated[int, Field(ge=0, le=10_000_000)]


class KeepSection(Section):
    """How long and how many of one kind; 0 sets no limit."""

    days: Days = 0.0
    records: Records = 0


class LedgerSection(Section):
    """Every event, in the order in which it happened, until it is too old or one too many."""

    keep_days: Days = 90.0
    """0: for ever."""
    keep_records: Records = 100_000
    """Of each kind; 0: any number."""
    attendance_days: Days = 730.0
    """The same for records of attendance and their corrections."""
    attendance_records: Records = 1_000_000
    maximum_megabytes: Annotated[int, Field(ge=8, le=1_000_000)] = 256
    """Above this the oldest go, also those that a sink still waits for; that is announced. What is
    kept for more days than the rest goes last."""
    kinds: dict[Kind | Literal["redaction"], KeepSection] = Field(default_factory=dict)
    """Other limits for a kind of event, instead of all above but the last."""
