"""The guard as a process: it unlocks for a time, and never longer than its daemon lives."""

from __future__ import annotations

import json
import os
import select
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from file_chip import PATIENCE_SECONDS, FileChip

from edgefaced.clock import boot_ns
from edgefaced.doors.guarded import GuardGone, GuardProcess, ended
from edgefaced.doors.outputs import LONGEST_PULSE_MS
from edgefaced.doors.wires import (
    Fault,
    Frame,
    Late,
    Lock,
    Locked,
    LockWires,
    Order,
    Pulse,
    Ready,
    Report,
    Sent,
    Unlocked,
    WiegandWires,
    Wire,
    read_order,
    read_report,
    read_wires,
    written,
    written_wires,
)

FOR_EVER_MS = 10**9


@pytest.fixture
def chip(tmp_path: Path) -> FileChip:
    return FileChip(tmp_path / "pins", "relay", "back", "d0", "d1")


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    return tmp_path / "unlocked.json"


@pytest.fixture
def locks(chip: FileChip) -> tuple[LockWires, ...]:
    def wire(line: str) -> Wire:
        return Wire("file", str(chip.folder), line)

    wiegand = WiegandWires(wire("d0"), wire("d1"), pulse_us=20, gap_us=200)
    return LockWires("front", wire("relay"), wiegand), LockWires("back", wire("back"))


Start = Callable[[], GuardProcess]


@pytest.fixture
def start(locks: tuple[LockWires, ...], marker: Path) -> Iterator[Start]:
    begun: list[GuardProcess] = []

    def begin() -> GuardProcess:
        begun.append(GuardProcess(locks, marker))
        return begun[-1]

    yield begin
    for guard in begun:
        guard.close()


def pulse(door: str, milliseconds: int) -> Pulse:
    return Pulse(door, milliseconds, boot_ns())


def heard(guard: GuardProcess, count: int) -> list[Report]:
    """The next reports, waited for."""
    found: list[Report] = []
    while len(found) < count:
        ready, _, _ = select.select([guard.fd], [], [], PATIENCE_SECONDS)
        assert ready, f"after {found} nothing came"
        found += guard.reports()
    return found


def test_a_pulse_has_a_beginning_and_an_end(start: Start, chip: FileChip, marker: Path) -> None:
    guard = start()
    assert heard(guard, 1) == [Ready()]
    guard.send(pulse("front", 30))
    unlocked, locked = heard(guard, 2)
    assert isinstance(unlocked, Unlocked)
    assert isinstance(locked, Locked)
    assert locked.at_ns - unlocked.at_ns >= 25_000_000
    assert not chip.is_high("relay")
    assert not marker.exists()


def test_no_pulse_is_longer_than_the_longest() -> None:
    """By the outputs alone: nobody waits half a minute for it."""
    from edgefaced.doors.outputs import HeldRelay, Outputs

    levels: list[bool] = []

    class Line:
        def set(self, active: bool) -> None:
            levels.append(active)

        def close(self) -> None:
            levels.append(False)

    line = Line()
    outputs = Outputs({"front": HeldRelay(line)}, {})

    def due() -> float | None:
        return outputs.next_due

    assert outputs.unlock("front", FOR_EVER_MS, now=100.0)
    assert due() == 100.0 + LONGEST_PULSE_MS / 1000
    assert not outputs.unlock("front", 5, now=101.0), "a shorter one changes nothing"
    assert due() == 100.0 + LONGEST_PULSE_MS / 1000
    assert outputs.lock_due(129.9) == ()
    assert levels == [True]
    assert outputs.lock_due(130.0) == ("front",)
    assert levels == [True, False]
    assert due() is None
    assert outputs.unlock("front", -5, now=200.0)
    assert outputs.lock_due(200.0) == ("front",)


def test_a_lock_can_be_closed_early_and_each_door_has_its_own_time(
    start: Start, chip: FileChip
) -> None:
    guard = start()
    heard(guard, 1)
    guard.send(pulse("front", FOR_EVER_MS))
    guard.send(pulse("back", FOR_EVER_MS))
    heard(guard, 2)
    assert chip.is_high("relay")
    assert chip.is_high("back")
    guard.send(Lock("front"))
    assert isinstance(heard(guard, 1)[0], Locked)
    assert not chip.is_high("relay")
    assert chip.is_high("back")


def test_when_the_daemon_goes_everything_is_locked_and_the_next_guard_says_so(
    start: Start, chip: FileChip, marker: Path
) -> None:
    guard = start()
    heard(guard, 1)
    guard.send(pulse("front", FOR_EVER_MS))
    heard(guard, 1)
    guard.close()
    assert not chip.is_high("relay")
    assert heard(start(), 1) == [Ready(lowered=("front",))]
    assert not marker.exists(), "it is said once"


def test_a_killed_guard_leaves_the_line_as_it_is_and_the_next_one_locks_it(
    start: Start, chip: FileChip
) -> None:
    guard = start()
    heard(guard, 1)
    guard.send(pulse("front", FOR_EVER_MS))
    heard(guard, 1)
    guard.kill()
    with pytest.raises(GuardGone, match="signal 9"):
        heard(guard, 1)
    assert chip.is_high("relay"), "the worst that hardware does"
    with pytest.raises(GuardGone, match="no orders"):
        guard.send(pulse("front", 1))
    guard.close()
    assert heard(start(), 1) == [Ready(left_active=("front",))]
    assert not chip.is_high("relay")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_what_a_terminal_sends_does_not_reach_it(start: Start, chip: FileChip, number: int) -> None:
    guard = start()
    heard(guard, 1)
    os.kill(guard.pid, number)
    guard.send(pulse("front", 5))
    assert len(heard(guard, 2)) == 2


def test_a_guard_that_is_asked_to_end_locks_first(start: Start, chip: FileChip) -> None:
    guard = start()
    heard(guard, 1)
    guard.send(pulse("front", FOR_EVER_MS))
    heard(guard, 1)
    os.kill(guard.pid, signal.SIGTERM)
    with pytest.raises(GuardGone, match="exit code 0"):
        heard(guard, 1)
    assert not chip.is_high("relay")


def test_a_guard_that_was_held_up_obeys_no_old_order(start: Start, chip: FileChip) -> None:
    guard = start()
    heard(guard, 1)
    guard.send(Pulse("front", 1000, boot_ns() - 1_500_000_000))
    guard.send(Frame("front", "10", 0))
    assert heard(guard, 2) == [Late("front"), Late("front")]
    assert not chip.is_high("relay")


def test_a_stopped_guard_can_be_killed_and_its_line_locked(start: Start, chip: FileChip) -> None:
    guard = start()
    heard(guard, 1)
    guard.send(pulse("front", FOR_EVER_MS))
    heard(guard, 1)
    os.kill(guard.pid, signal.SIGSTOP)
    guard.kill()
    guard.close()
    heard(start(), 1)
    assert not chip.is_high("relay")


def test_a_frame_goes_out_while_a_pulse_ends_in_time(start: Start, chip: FileChip) -> None:
    guard = start()
    heard(guard, 1)
    guard.send(pulse("front", 1))
    guard.send(Frame("front", "01" * 13, boot_ns()))
    kinds = {type(report) for report in heard(guard, 3)}
    assert kinds == {Unlocked, Locked, Sent}
    assert not any(chip.is_high(line) for line in ("relay", "d0", "d1"))


@pytest.mark.parametrize("broken", ["missing", "busy"])
def test_lines_that_cannot_be_had_are_said_and_none_is_kept(
    start: Start, chip: FileChip, broken: str
) -> None:
    held = None
    if broken == "missing":
        (chip.folder / "back").unlink()
    else:
        held = start()
        heard(held, 1)
    guard = start()
    (fault,) = heard(guard, 1)
    assert isinstance(fault, Fault)
    assert ("no line 'back'" if broken == "missing" else "Device or resource busy") in fault.detail
    with pytest.raises(GuardGone, match="exit code 1"):
        heard(guard, 1)
    assert not chip.is_high("relay")


def test_a_chip_that_goes_ends_the_guard_with_everything_else_locked(
    start: Start, chip: FileChip
) -> None:
    guard = start()
    heard(guard, 1)
    guard.send(pulse("back", FOR_EVER_MS))
    heard(guard, 1)
    (chip.folder / "relay").unlink()
    guard.send(pulse("front", 10))
    (fault, *_) = heard(guard, 1)
    assert isinstance(fault, Fault)
    with pytest.raises(GuardGone):
        heard(guard, 5)
    assert not chip.is_high("back")


def test_nonsense_ends_a_guard(start: Start, chip: FileChip) -> None:
    guard = start()
    heard(guard, 1)
    guard.send(pulse("front", FOR_EVER_MS))
    guard.send(Lock("no such door"))
    with pytest.raises(GuardGone):
        heard(guard, 9)
    assert not chip.is_high("relay")


def test_a_guard_that_is_told_nothing_ends(
    chip: FileChip, marker: Path, locks: tuple[LockWires, ...]
) -> None:
    marker.write_text("what is this?")
    guard = GuardProcess(locks, marker)
    assert heard(guard, 1) == [Ready()]
    guard.close()
    with pytest.raises(GuardGone):
        guard.send(Lock("front"))


def test_messages_come_back_as_they_went() -> None:
    orders: list[Order] = [Pulse("a", 5, 1), Lock("a"), Frame("a", "01", 2)]
    reports: list[Report] = [
        Ready(("a",), ("b", "c")), Unlocked("a", 1), Locked("a", 2), Sent("a", 3, 4), Late("a"),
        Fault("x"),
    ]  # fmt: skip
    assert [read_order(written(order)) for order in orders] == orders
    assert [read_report(written(report)) for report in reports] == reports
    for line in (written(orders[0]), b"{}", b"[]", b'{"what": "Exec"}', b"\xff"):
        with pytest.raises(ValueError, match=r"no report|no message|decode"):
            read_report(line)
    with pytest.raises(ValueError, match="no order"):
        read_order(written(reports[0]))
    with pytest.raises(ValueError, match="no wires"):
        read_wires(b"{}")


def test_wires_come_back_as_they_went(locks: tuple[LockWires, ...]) -> None:
    assert read_wires(written_wires(locks, "/run/x")) == (locks, "/run/x")
    assert len(locks[0].outputs) == 3
    assert json.loads(written_wires(locks, "x"))["marker"] == "x"


def test_how_a_process_ended() -> None:
    assert (ended(-9), ended(1)) == ("signal 9", "exit code 1")
