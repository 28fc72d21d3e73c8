"""A chip of the kernel, or a folder that stands for one."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from edgefaced.gpio.folder import open_folder
from edgefaced.gpio.gpiochip import open_gpiochip
from edgefaced.gpio.lines import Chip

ChipKind = Literal["gpiochip", "file"]


def open_chip(kind: ChipKind, name: str) -> Chip:
    """By label or path ("gpiochip"), or by folder ("file"). Raises GpioError, DependencyMissing."""
    if kind == "file":
        return open_folder(Path(name))
    return open_gpiochip(name)
