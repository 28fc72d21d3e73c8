"""What a door's lock hangs on, and what a daemon and the guard of its lines tell each other.

One JSON document a line. The guard has no more than the standard library and GPIO to import, and so
has this module.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from edgefaced.gpio.choose import ChipKind


@dataclass(frozen=True, slots=True)
class Wire:
    """One output line."""

    kind: ChipKind
    chip: str
    line: str
    active_low: bool = False


@dataclass(frozen=True, slots=True)
class WiegandWires:
    """Two lines that are active for a moment for each 0 and each 1."""

    zero: Wire
    one: Wire
    pulse_us: int
    gap_us: int


@dataclass(frozen=True, slots=True)
class LockWires:
    """All outputs of one door."""

    door: str
    relay: Wire | None = None
    wiegand: WiegandWires | None = None

    @property
    def outputs(self) -> tuple[Wire, ...]:
        relay = () if self.relay is None else (self.relay,)
        wiegand = () if self.wiegand is None else (self.wiegand.zero, self.wiegand.one)
        return relay + wiegand


@dataclass(frozen=True, slots=True)
class Pulse:
    """Unlock a door for so long, or for longer where it is unlocked already.

    `at_ns` is when it was ordered (boot time): a guard that was held up obeys no old order.
    """

    door: str
    milliseconds: int
    at_ns: int


@dataclass(frozen=True, slots=True)
class Lock:
    """Lock a door at once."""

    door: str


@dataclass(frozen=True, slots=True)
class Frame:
    """Send these bits, "0" and "1", by a door's Wiegand lines; `at_ns` as in a pulse."""

    door: str
    bits: str
    at_ns: int


Order = Pulse | Lock | Frame


@dataclass(frozen=True, slots=True)
class Ready:
    """All lines are held and inactive.

    `left_active` are doors that were unlocked when an earlier guard was killed, `lowered` those
    that an earlier guard locked because its daemon had gone.
    """

    left_active: tuple[str, ...] = ()
    lowered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unlocked:
    """A relay is active since this time of the boot."""

    door: str
    at_ns: int


@dataclass(frozen=True, slots=True)
class Locked:
    """A relay is inactive since this time of the boot."""

    door: str
    at_ns: int


@dataclass(frozen=True, slots=True)
class Sent:
    """A Wiegand frame is out; the longest pulse and gap of it, in microseconds."""

    door: str
    longest_pulse_us: int
    longest_gap_us: int


@dataclass(frozen=True, slots=True)
class Late:
    """An order was not obeyed, for it was too old."""

    door: str


@dataclass(frozen=True, slots=True)
class Fault:
    """The guard ends, with all lines inactive as far as that was possible."""

    detail: str


Report = Ready | Unlocked | Locked | Sent | Late | Fault

_KINDS: dict[str, Callable[..., Order | Report]] = {
    kind.__name__: kind for kind in (Pulse, Lock, Frame, Ready, Unlocked, Locked, Sent, Late, Fault)
}


def written(message: Order | Report) -> bytes:
    """One line."""
    body = {"what": type(message).__name__, **asdict(message)}
    return json.dumps(body).encode() + b"\n"


def read_order(line: bytes) -> Order:
    """Raises ValueError for anything else."""
    message = _read(line)
    if not isinstance(message, Pulse | Lock | Frame):
        raise ValueError(f"no order: {message}")
    return message


def read_report(line: bytes) -> Report:
    """Raises ValueError for anything else."""
    message = _read(line)
    if isinstance(message, Pulse | Lock | Frame):
        raise ValueError(f"no report: {message}")
    return message


def _read(line: bytes) -> Order | Report:
    try:
        body: dict[str, Any] = json.loads(line)
        kind = _KINDS[body.pop("what")]
        return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in body.items()})
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no message: {line!r}") from error


def written_wires(locks: tuple[LockWires, ...], marker: str) -> bytes:
    """The first line that a guard is told: what to hold, and where to note what is unlocked."""
    return (
        json.dumps({"locks": [asdict(lock) for lock in locks], "marker": marker}).encode() + b"\n"
    )


def read_wires(line: bytes) -> tuple[tuple[LockWires, ...], str]:
    """Raises ValueError for anything else."""
    try:
        body = json.loads(line)
        return tuple(lock_wires(lock) for lock in body["locks"]), str(body["marker"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"no wires: {line!r}") from error


def lock_wires(body: dict[str, Any]) -> LockWires:
    """What `asdict` made of it. Raises KeyError or TypeError for anything else."""
    relay, wiegand = body["relay"], body["wiegand"]
    return LockWires(
        body["door"],
        None if relay is None else Wire(**relay),
        None
        if wiegand is None
        else WiegandWires(
            Wire(**wiegand["zero"]),
            Wire(**wiegand["one"]),
            wiegand["pulse_us"],
            wiegand["gap_us"],
        ),
    )
