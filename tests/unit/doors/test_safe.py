"""Every output inactive from outside, and which lines that were when nobody can say."""

from __future__ import annotations

from pathlib import Path

import pytest
from file_chip import FileChip

from edgefaced.doors.guarded import GuardProcess
from edgefaced.doors.outputs import take
from edgefaced.doors.remembered import recall, remember
from edgefaced.doors.safe import make_safe
from edgefaced.doors.wires import LockWires, Pulse, WiegandWires, Wire
from edgefaced.errors import GpioBusy, GpioLost


@pytest.fixture
def chip(tmp_path: Path) -> FileChip:
    return FileChip(tmp_path / "pins", "relay", "d0", "d1")


def wire(chip: FileChip, line: str, *, active_low: bool = False) -> Wire:
    return Wire("file", str(chip.folder), line, active_low)


def test_everything_is_made_inactive_whatever_the_others_do(chip: FileChip) -> None:
    for line in ("relay", "d0"):
        chip.drive(line, high=True)
    locks = (
        LockWires("gone", wire(chip, "no such line")),
        LockWires("front", None, WiegandWires(wire(chip, "d0"), wire(chip, "d1"), 50, 2000)),
        LockWires("back", wire(chip, "relay")),
        LockWires("none"),
    )
    with pytest.raises(GpioLost, match="no such line"):
        make_safe(locks)
    assert not any(chip.is_high(line) for line in ("relay", "d0", "d1"))
    assert make_safe((*locks[1:], locks[2])) == ["d0", "d1", "relay"]


def test_inactive_is_high_where_active_is_low(chip: FileChip) -> None:
    make_safe([LockWires("front", wire(chip, "relay", active_low=True))])
    assert chip.is_high("relay")


def test_lines_that_a_guard_still_holds_are_waited_for(chip: FileChip, tmp_path: Path) -> None:
    locks = (LockWires("front", wire(chip, "relay")),)
    guard = GuardProcess(locks, tmp_path / "marker")
    guard.send(Pulse("front", 30_000, 0))
    # Its daemon goes at the same moment.
    guard.close()
    assert make_safe(locks) == ["relay"]


def test_a_line_that_somebody_keeps_is_said(
    chip: FileChip, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgefaced.doors.safe.PATIENCE_SECONDS", 0.1)
    locks = (LockWires("front", wire(chip, "relay")),)
    held = take(locks)
    with pytest.raises(GpioBusy, match="relay"):
        make_safe(locks)
    held.close()


def test_lines_are_remembered(chip: FileChip, tmp_path: Path) -> None:
    file = tmp_path / "lines.json"
    assert recall(file) == ()
    locks = (
        LockWires("front", wire(chip, "relay")),
        LockWires("back", None, WiegandWires(wire(chip, "d0"), wire(chip, "d1"), 50, 2000)),
    )
    remember(file, locks)
    assert recall(file) == locks
    written = file.stat().st_mtime_ns
    remember(file, locks)
    assert file.stat().st_mtime_ns == written, "a card is not written to for nothing"
    for broken in ("", "{}", '[{"door": "x"}]', "[7]"):
        file.write_text(broken)
        assert recall(file) == ()
