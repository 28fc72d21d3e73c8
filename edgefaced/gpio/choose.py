"""A chip of the kernel, or a folder that stands for one."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Literal

from edgefaced.gpio.folder import open_folder
from edgefaced.gpio.gpiochip import open_gpiochip
from edgefaced.gpio.lines import Chip, InputLine

ChipKind = Literal["gpiochip", "file"]


def open_chip(kind: ChipKind, name: str) -> Chip:
    """By label or path ("gpiochip"), or by folder ("file"). Raises GpioError, DependencyMissing."""
    if kind == "file":
        return open_folder(Path(name))
    return open_gpiochip(name)


def open_input(kind: ChipKind, chip: str, line: str, *, active_low: bool = False) -> InputLine:
    """One input with both edges. Raises GpioError, DependencyMissing."""
    with closing(open_chip(kind, chip)) as opened:
        return opened.input(line, active_low=active_low)
