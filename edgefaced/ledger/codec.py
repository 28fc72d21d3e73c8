"""Events as canonical JSON and back, without loss. One table says which happenings there are.

A happening's fields may be numbers, texts, truth values, times, members of a StrEnum, values made
of those, and None. A field that an older record does not have gets its default; a kind that this
version does not know comes back as `Unknown` and is written again as it was.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import MAXYEAR, MINYEAR, datetime
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Any, get_args, get_type_hints

from edgefaced.errors import LedgerDamaged
from edgefaced.events import (
    AccessDecided,
    AttendanceCorrected,
    Attended,
    CameraChanged,
    DecisionMade,
    DirectionChosen,
    DoorChanged,
    Event,
    FaceLeft,
    Happening,
    PaceChanged,
    RecordsRedacted,
    RelayPulsed,
    Trouble,
    Unknown,
)

VERSION = 1

DAY_SECONDS = 86_400

NO_RECORD = (ValueError, KeyError, TypeError, OverflowError, RecursionError)
"""What reading something else ends with: an edited record is named, and stops nobody."""

KINDS: Mapping[str, type[Happening]] = {
    "face": DecisionMade,
    "left": FaceLeft,
    "pace": PaceChanged,
    "camera": CameraChanged,
    "trouble": Trouble,
    "access": AccessDecided,
    "door": DoorChanged,
    "pulse": RelayPulsed,
    "button": DirectionChosen,
    "attendance": Attended,
    "correction": AttendanceCorrected,
    "redaction": RecordsRedacted,
}
"""Every kind of record; the names stay for ever, they are what is stored."""

_NAMES = {made: kind for kind, made in KINDS.items()}


def kind_of(event: Event) -> str:
    """The record's kind, one of KINDS or that of another version."""
    happening = event.happening
    return happening.kind if isinstance(happening, Unknown) else _NAMES[type(happening)]


def person_in(event: Event) -> str | None:
    """The id of the person an event is about: the first field of that name, however deep."""
    return _person(event.happening)


def encode(event: Event) -> bytes:
    """Canonical: equal events give equal bytes. `recorded` is not a part of it."""
    happening = event.happening
    if isinstance(happening, Unknown):
        return happening.body.encode()
    return _canonical(
        {
            "version": VERSION,
            "kind": kind_of(event),
            "id": event.id,
            "camera": event.camera,
            "utc": event.utc.isoformat(),
            "utc_offset_seconds": event.utc_offset_seconds,
            "synchronised": event.synchronised,
            "monotonic_ns": event.monotonic_ns,
            "boot_id": event.boot_id,
            "what": _plain(happening),
        }
    )


def decode(body: bytes) -> Event:
    """The event that was encoded. Raises LedgerDamaged for what is no record."""
    try:
        table = json.loads(body)
        return Event(
            happening=_happening(table, body),
            camera=_typed(str, table["camera"]),
            id=_typed(str, table["id"]),
            utc=_moment(table["utc"]),
            monotonic_ns=_whole(table["monotonic_ns"]),
            boot_id=_typed(str, table["boot_id"]),
            synchronised=_typed(bool, table["synchronised"]),
            utc_offset_seconds=_offset(table["utc_offset_seconds"]),
        )
    except NO_RECORD as error:
        raise LedgerDamaged(f"a record cannot be read: {error!r}", "see `events verify`") from error


def _canonical(table: object) -> bytes:
    text = json.dumps(table, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("ascii")


def _happening(table: dict[str, Any], body: bytes) -> Happening:
    kind = _typed(str, table["kind"])
    made = KINDS.get(kind)
    if made is not None:
        try:
            return _value(made, table["what"])  # type: ignore[no-any-return]  # _value gives a `made`
        except NO_RECORD:
            if _typed(int, table["version"]) <= VERSION:
                raise
    return Unknown(kind, body.decode())


def _plain(value: object) -> Any:
    """As JSON has it. A number that JSON lacks (NaN) is written as a word."""
    match value:
        case None | bool() | int():
            return value
        case float():
            return value if value - value == 0 else repr(value)
        case str():
            return str(value)
        case datetime():
            return value.isoformat()
        case _ if is_dataclass(value):
            return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    raise TypeError(f"the ledger has no form for {type(value).__name__}")


def _value(wanted: Any, plain: Any) -> Any:
    """`plain` as a value of the type `wanted`. Raises ValueError, KeyError or TypeError."""
    if isinstance(wanted, UnionType):
        (inner,) = (kind for kind in get_args(wanted) if kind is not NoneType)
        return None if plain is None else _value(inner, plain)
    if is_dataclass(wanted):
        return wanted(**_arguments(wanted, plain))  # type: ignore[operator]  # a class, not a value
    return _LEAVES.get(wanted, wanted)(plain) if wanted in _LEAVES else _member(wanted, plain)


def _arguments(made: Any, plain: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for field in fields(made):
        if field.name in plain:
            found[field.name] = _value(_hints(made)[field.name], plain[field.name])
        elif field.default is MISSING:
            raise KeyError(field.name)
    return found


def _member(wanted: Any, plain: Any) -> Any:
    if not issubclass(wanted, StrEnum):
        raise TypeError(f"the ledger has no form for {wanted}")
    return wanted(plain)


def _whole(plain: Any) -> int:
    number = int(_typed(int, plain))
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"{number} is too large")
    return number


def _offset(plain: Any) -> int:
    seconds = _whole(plain)
    if not abs(seconds) < DAY_SECONDS:
        raise ValueError(f"{seconds} s is no offset of local time")
    return seconds


def _moment(plain: Any) -> datetime:
    """With its offset, and far enough from the calendar's ends for local time and years to add."""
    moment = datetime.fromisoformat(plain)
    if moment.tzinfo is None or not MINYEAR + 1 < moment.year < MAXYEAR - 1:
        raise ValueError(f"{plain} is no moment")
    return moment


def _typed(kind: type[Any], plain: Any) -> Any:
    if type(plain) is not kind:
        raise TypeError(f"{plain!r} is no {kind.__name__}")
    return plain


_LEAVES: Mapping[Any, Callable[[Any], Any]] = {
    bool: lambda plain: _typed(bool, plain),
    int: lambda plain: _whole(plain),
    str: lambda plain: _typed(str, plain),
    float: float,
    datetime: lambda plain: _moment(plain),
}


@cache
def _hints(made: type) -> dict[str, Any]:
    return get_type_hints(made)


def _person(value: object) -> str | None:
    if not is_dataclass(value):
        return None
    for field in fields(value):
        inner = getattr(value, field.name)
        found = inner if field.name == "person_id" else _person(inner)
        if found is not None:
            return str(found)
    return None
