"""Lines of doors: taken all or none, frames sent bit by bit, and inactive whatever fails."""

from __future__ import annotations

from pathlib import Path

import fake_gpiod
import pytest
from file_chip import FileChip

from edgefaced.doors.outputs import HeldRelay, HeldWiegand, Outputs, take
from edgefaced.doors.wires import LockWires, WiegandWires, Wire
from edgefaced.errors import GpioBusy, GpioError, GpioLost

WIRES = WiegandWires(Wire("file", "", "d0"), Wire("file", "", "d1"), pulse_us=20, gap_us=400)


class Scribe:
    """A line that writes down its levels in a list that it shares with others."""

    def __init__(self, name: str, written: list[str]) -> None:
        self.name, self.written = name, written
        self.fails_at: int | None = None
        self.closed = False

    def set(self, active: bool) -> None:
        if self.fails_at == len(self.written) and active:
            raise GpioError("broken on purpose")
        self.written.append(f"{self.name}{'+' if active else '-'}")

    def close(self) -> None:
        self.closed = True
        self.set(False)


def test_a_frame_is_a_pulse_on_one_line_for_each_bit() -> None:
    written: list[str] = []
    zero, one = Scribe("0", written), Scribe("1", written)
    outputs = Outputs({}, {"front": HeldWiegand(zero, one, WIRES)})
    gaps = 0

    def meanwhile() -> None:
        nonlocal gaps
        gaps += 1
        assert written[-1].endswith("-"), "both are inactive in a gap"

    pulse_us, gap_us = outputs.send("front", "0110", meanwhile)
    assert written == ["0+", "0-", "1+", "1-", "1+", "1-", "0+", "0-"]
    assert gaps == 4
    assert pulse_us >= 20
    assert gap_us >= 400


def test_a_line_that_fails_in_a_frame_ends_it_with_both_inactive() -> None:
    written: list[str] = []
    zero, one = Scribe("0", written), Scribe("1", written)
    one.fails_at = 2
    outputs = Outputs({}, {"front": HeldWiegand(zero, one, WIRES)})
    with pytest.raises(GpioError):
        outputs.send("front", "0110", lambda: None)
    assert written == ["0+", "0-", "1-"]


def test_a_relay_that_cannot_be_unlocked_is_locked_again() -> None:
    written: list[str] = []
    relay = Scribe("r", written)
    relay.fails_at = 0
    outputs = Outputs({"front": HeldRelay(relay)}, {})
    with pytest.raises(GpioError):
        outputs.unlock("front", 100, now=0.0)
    assert written == ["r-"]
    assert outputs.unlocked == ()
    assert outputs.next_due is None


def test_every_line_is_closed_although_one_fails() -> None:
    class Stuck(Scribe):
        def close(self) -> None:
            super().close()
            raise GpioError("it does not obey")

    written: list[str] = []
    first, second = Stuck("a", written), Scribe("b", written)
    outputs = Outputs({"front": HeldRelay(first), "back": HeldRelay(second)}, {})
    outputs.unlock("back", 100, now=0.0)
    with pytest.raises(GpioError):
        outputs.close()
    assert (first.closed, second.closed) == (True, True)
    assert outputs.unlocked == ()


def test_lines_are_taken_all_or_none(tmp_path: Path) -> None:
    chip = FileChip(tmp_path / "pins", "relay", "d0", "d1")
    chip.drive("relay", high=True)

    def wire(line: str) -> Wire:
        return Wire("file", str(chip.folder), line)

    good = LockWires("front", wire("relay"), WiegandWires(wire("d0"), wire("d1"), 20, 200))
    with pytest.raises(GpioLost):
        take((good, LockWires("back", wire("missing"))))
    outputs = take((good, LockWires("nothing")))
    assert not chip.is_high("relay")
    assert outputs.unlock("front", 100, now=0.0)
    assert chip.is_high("relay")
    assert outputs.lock_due(0.05) == ()
    assert outputs.lock_due(0.1) == ("front",)
    assert not outputs.lock("front"), "it was locked already"
    outputs.close()


@pytest.mark.parametrize("active_low", [False, True])
def test_lines_of_the_kernel_by_label_and_name(
    active_low: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("gpiod")
    board = fake_gpiod.Board({"/dev/gpiochip0": ("pins", [fake_gpiod.Wire("relay")])})
    monkeypatch.setattr("gpiod.Chip", board.open)
    relay = Wire("gpiochip", "/dev/gpiochip0", "relay", active_low)
    outputs = take((LockWires("front", relay),))
    assert board.wire("relay").high is active_low, "inactive from the moment it is held"
    outputs.unlock("front", 100, now=0.0)
    assert board.wire("relay").high is not active_low
    with pytest.raises(GpioBusy):
        take((LockWires("front", relay),))
    outputs.close()
    assert board.wire("relay").high is active_low
