"""Holding a door's lines: inactive from the moment they are taken, and never active for long."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from edgefaced.doors.wires import LockWires, WiegandWires, Wire
from edgefaced.errors import GpioError
from edgefaced.gpio.choose import open_chip
from edgefaced.gpio.lines import OutputLine

LONGEST_PULSE_MS = 30_000
"""However long somebody asks for: nothing keeps a line active beyond it without asking again."""

CLOSE_TO_US = 150
"""Sleeping ends late by about so much: the rest of a wait is spun."""


@dataclass(slots=True)
class HeldRelay:
    """A relay's line and when it is to become inactive, in seconds since the boot."""

    line: OutputLine
    until: float | None = None


@dataclass(frozen=True, slots=True)
class HeldWiegand:
    """The two lines of a Wiegand output."""

    zero: OutputLine
    one: OutputLine
    wires: WiegandWires


class Outputs:
    """All lines of all doors; used by one thread."""

    def __init__(self, relays: dict[str, HeldRelay], wiegands: dict[str, HeldWiegand]) -> None:
        self._relays = relays
        self._wiegands = wiegands

    @property
    def unlocked(self) -> tuple[str, ...]:
        """Doors whose relay is active."""
        return tuple(door for door, relay in self._relays.items() if relay.until is not None)

    @property
    def next_due(self) -> float | None:
        """When the next relay is to become inactive."""
        return min(
            (relay.until for relay in self._relays.values() if relay.until is not None),
            default=None,
        )

    def unlock(self, door: str, milliseconds: int, now: float) -> bool:
        """Makes a relay active, or keeps it so for longer; whether it was inactive before.

        Raises GpioError; the line then is inactive where the chip still obeys.
        """
        relay = self._relays[door]
        until = now + min(max(milliseconds, 0), LONGEST_PULSE_MS) / 1000
        if relay.until is not None:
            relay.until = max(relay.until, until)
            return False
        # First the end, then the beginning: no line is active without an end.
        relay.until = until
        try:
            relay.line.set(True)
        except GpioError:
            self.lock(door)
            raise
        return True

    def lock(self, door: str) -> bool:
        """Makes a relay inactive; whether it was active. Raises GpioError."""
        relay = self._relays[door]
        was = relay.until is not None
        relay.line.set(False)
        relay.until = None
        return was

    def lock_due(self, now: float) -> tuple[str, ...]:
        """Makes inactive whatever has been active for its time. Raises GpioError."""
        due = [d for d, r in self._relays.items() if r.until is not None and now >= r.until]
        return tuple(door for door in due if self.lock(door))

    def send(self, door: str, bits: str, meanwhile: Callable[[], None]) -> tuple[int, int]:
        """Sends a frame; the longest pulse and the longest gap in microseconds. Raises GpioError.

        `meanwhile` is called in every gap and must be quick.
        """
        held = self._wiegands[door]
        pulse_ns, gap_ns = held.wires.pulse_us * 1000, held.wires.gap_us * 1000
        longest_pulse = longest_gap = 0
        ended = 0
        for bit in bits:
            line = held.one if bit == "1" else held.zero
            try:
                began = time.perf_counter_ns()
                line.set(True)
                # Shorter than any sleep: this is spun.
                _wait_until(began + pulse_ns)
            finally:
                line.set(False)
            now = time.perf_counter_ns()
            longest_pulse = max(longest_pulse, now - began)
            if ended:
                longest_gap = max(longest_gap, began - ended)
            ended = now
            meanwhile()
            _wait_until(ended + gap_ns)
        return longest_pulse // 1000, longest_gap // 1000

    def close(self) -> None:
        """Makes all lines inactive and gives them back, each whatever becomes of the others."""
        lines = [relay.line for relay in self._relays.values()]
        lines += [line for w in self._wiegands.values() for line in (w.zero, w.one)]
        for relay in self._relays.values():
            relay.until = None
        with ExitStack() as stack:
            for line in lines:
                stack.callback(line.close)


def take(locks: tuple[LockWires, ...]) -> Outputs:
    """Takes every line; all of them or none. Raises GpioError or DependencyMissing."""
    relays: dict[str, HeldRelay] = {}
    wiegands: dict[str, HeldWiegand] = {}
    with ExitStack() as stack:

        def output(wire: Wire) -> OutputLine:
            chip = open_chip(wire.kind, wire.chip)
            try:
                line = chip.output(wire.line, active_low=wire.active_low)
            finally:
                chip.close()
            stack.callback(line.close)
            return line

        for lock in locks:
            if lock.relay is not None:
                relays[lock.door] = HeldRelay(output(lock.relay))
            if lock.wiegand is not None:
                wires = lock.wiegand
                wiegands[lock.door] = HeldWiegand(output(wires.zero), output(wires.one), wires)
        stack.pop_all()
    return Outputs(relays, wiegands)


def _wait_until(end_ns: int) -> None:
    left = end_ns - time.perf_counter_ns()
    if left > 2 * CLOSE_TO_US * 1000:
        time.sleep(left / 1e9 - CLOSE_TO_US / 1e6)
    while time.perf_counter_ns() < end_ns:
        pass
