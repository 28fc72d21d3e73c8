"""The chips that somebody may choose from."""

from __future__ import annotations

import errno
from pathlib import Path

from fake_gpiod import Board, Wire

from edgefaced.gpio.found import FoundChip, FoundLine, found_chips


def test_chips_with_their_lines_and_who_has_them(tmp_path: Path) -> None:
    chips = {}
    for node, label in (("gpiochip0", "soc"), ("gpiochip10", "pinctrl-rp1"), ("gpiochip2", "no")):
        (tmp_path / node).touch()
        chips[str(tmp_path / node)] = (label, [Wire("GPIO4"), Wire("", consumer="led"), Wire("x")])
    chips[str(tmp_path / "gpiochip0")][1][2].consumer = "spi"
    board = Board(chips, refused={str(tmp_path / "gpiochip2"): errno.EACCES})
    found = found_chips(devices=tmp_path, opener=board.open)
    assert [chip.label for chip in found] == ["soc", "pinctrl-rp1"]
    lines = (FoundLine(0, "GPIO4", ""), FoundLine(1, "", "led"), FoundLine(2, "x", "spi"))
    assert found[0] == FoundChip("soc", tmp_path / "gpiochip0", lines)
    assert found[0].free() == ("GPIO4",)
    assert found[1].free() == ("GPIO4", "x")


def test_a_machine_without_chips_needs_no_library(tmp_path: Path) -> None:
    assert found_chips(devices=tmp_path) == ()
