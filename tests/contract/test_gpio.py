"""What every GPIO chip keeps, whatever is behind it: the kernel through libgpiod, or files."""

from __future__ import annotations

import gc
import select
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from fake_gpiod import Board, Wire

from edgefaced.errors import GpioBusy, GpioError, GpioLost
from edgefaced.gpio.choose import open_chip
from edgefaced.gpio.gpiochip import open_gpiochip
from edgefaced.gpio.lines import Bias, Chip, Edge, Edges

LINES = ("relay", "button", "motion")
PATIENCE = 30.0
"""Longer than anything here takes."""
NOW = 0.0


@dataclass
class Rig:
    """A chip with three lines and what is soldered to them."""

    open: Callable[[], Chip]
    high: Callable[[str], bool]
    """Whether there is voltage on a line."""
    drive: Callable[[str, bool], None]
    """Puts voltage on a line."""


def file_rig(folder: Path) -> Rig:
    for line in LINES:
        (folder / line).write_text("0\n")

    def drive(line: str, high: bool) -> None:
        (folder / line).write_text(f"{int(high)}\n")

    return Rig(
        open=lambda: open_chip("file", str(folder)),
        high=lambda line: (folder / line).read_text().strip() == "1",
        drive=drive,
    )


def library_rig(folder: Path) -> Rig:
    board = Board({"/dev/gpiochip0": ("pins", [Wire(line) for line in LINES])})
    return Rig(
        open=lambda: open_gpiochip("/dev/gpiochip0", opener=board.open),
        high=lambda line: board.wire(line).high,
        drive=board.drive,
    )


RIGS = {"files": file_rig, "libgpiod": library_rig}


@pytest.fixture(params=RIGS, ids=str)
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Rig:
    return RIGS[request.param](tmp_path)


@pytest.fixture
def chip(rig: Rig) -> Iterator[Chip]:
    chip = rig.open()
    yield chip
    chip.close()
    chip.close()


@pytest.mark.parametrize("active_low", [False, True])
def test_an_output_is_inactive_from_the_request_to_after_its_end(
    rig: Rig, chip: Chip, active_low: bool
) -> None:
    rig.drive("relay", not active_low)  # as a crashed owner left it
    line = chip.output("relay", active_low=active_low)
    assert rig.high("relay") is active_low
    line.set(True)
    assert rig.high("relay") is not active_low
    line.set(False)
    assert rig.high("relay") is active_low
    line.set(True)
    line.close()
    assert rig.high("relay") is active_low
    line.close()
    with pytest.raises(GpioError, match="given back"):
        line.set(True)
    assert rig.high("relay") is active_low


def test_a_line_outlives_the_chip_it_was_taken_from(rig: Rig) -> None:
    chip = rig.open()
    with closing(chip.output("relay")) as relay, closing(chip.input("button")) as button:
        chip.close()
        relay.set(True)
        assert rig.high("relay")
        rig.drive("button", True)
        assert button.wait(PATIENCE)


@pytest.mark.parametrize("active_low", [False, True])
def test_an_input_tells_level_and_changes(rig: Rig, chip: Chip, active_low: bool) -> None:
    rig.drive("button", active_low)
    with closing(chip.input("button", active_low=active_low)) as line:
        assert line.level() is False
        assert line.wait(NOW) == ()
        before = time.monotonic_ns()
        rig.drive("button", not active_low)
        (edge,) = line.wait(PATIENCE)
        assert edge == Edge(True, edge.at_ns)
        assert before <= edge.at_ns <= time.monotonic_ns()
        assert line.level() is True
        rig.drive("button", active_low)
        assert [e.active for e in line.wait(PATIENCE)] == [False]
        assert line.level() is False
        assert line.wait(NOW) == ()
    line.close()


def test_a_level_that_was_there_before_is_no_change(rig: Rig, chip: Chip) -> None:
    rig.drive("motion", True)
    with closing(chip.input("motion")) as line:
        assert line.level() is True
        assert line.wait(NOW) == ()


@pytest.mark.parametrize(
    ("edges", "reported"), [(Edges.RISING, [True]), (Edges.FALLING, [False])], ids=str
)
def test_only_the_asked_changes_are_reported(
    rig: Rig, chip: Chip, edges: Edges, reported: list[bool]
) -> None:
    with closing(chip.input("button", edges=edges)) as line:
        seen = []
        for high in (True, False):
            rig.drive("button", high)
            seen += [edge.active for edge in line.wait(NOW)]
        assert seen == reported


def test_the_descriptor_is_readable_when_something_happened(rig: Rig, chip: Chip) -> None:
    with closing(chip.input("button", debounce=0.01, bias=Bias.PULL_UP)) as line:
        poll = select.poll()
        poll.register(line.fd, select.POLLIN)
        assert not poll.poll(0)
        rig.drive("button", True)
        assert poll.poll(PATIENCE * 1000)
        assert line.wait(NOW)
        assert not poll.poll(0)


def test_one_line_says_nothing_of_another(rig: Rig, chip: Chip) -> None:
    with closing(chip.input("button")) as button, closing(chip.input("motion")) as motion:
        rig.drive("motion", True)
        assert motion.wait(PATIENCE)
        assert button.wait(NOW) == ()


def test_a_held_line_is_busy_and_free_afterwards(rig: Rig, chip: Chip) -> None:
    line = chip.output("relay")
    line.set(True)
    with pytest.raises(GpioBusy, match="relay") as caught:
        rig.open().output("relay")
    assert caught.value.hint.startswith("held by ")
    assert rig.high("relay"), "a refused request changes nothing"
    line.close()
    chip.input("relay").close()


def test_a_line_that_is_not_there_is_said_with_those_that_are(chip: Chip) -> None:
    for take in (chip.input, chip.output):
        with pytest.raises(GpioLost, match="no line 'bell'") as caught:
            take("bell")
        assert all(line in caught.value.hint for line in LINES)


def test_a_name_is_a_name_and_never_a_path(chip: Chip) -> None:
    for name in ("../relay", "/etc/passwd", "", ".", "99", "²"):
        with pytest.raises(GpioLost, match="no line"):
            chip.output(name)


def test_nothing_stays_open(rig: Rig) -> None:
    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    gc.collect()
    before = descriptors()
    chip = rig.open()
    lines = chip.output("relay"), chip.input("button")
    with pytest.raises(GpioBusy):
        chip.input("relay")
    for line in lines:
        line.close()
    chip.close()
    assert descriptors() == before
