"""Which Rockchip NPU this board has, and the versions of what drives it.

Nothing is loaded: the device tree names the chip, the runtime library and the kernel driver say
their versions in files.
"""

from __future__ import annotations

import mmap
import re
from dataclasses import dataclass
from pathlib import Path

CHIPS = {
    "rk3588": ("rk3588", 3),
    "rk3588s": ("rk3588", 3),
    "rk3576": ("rk3576", 2),
    "rk3566": ("rk3566", 1),
    "rk3568": ("rk3566", 1),
}
"""Target of the converter and number of NPU cores, by chip. One compiled file serves both of a row.
"""

COMPATIBLE = Path("proc/device-tree/compatible")
LIBRARY = Path("usr/lib/librknnrt.so")
"""Where rknn-toolkit-lite2 looks for it, and nowhere else."""
DRIVER_FILES = (Path("sys/kernel/debug/rknpu/version"), Path("proc/rknpu/version"))

_LIBRARY_VERSION = re.compile(rb"librknnrt version: (\d+(?:\.\d+)+)")
_VERSION = re.compile(r"\d+(?:\.\d+)+")


@dataclass(frozen=True, slots=True)
class Npu:
    """The NPU of this board. A version is None where it cannot be read, `library` where there is
    none.
    """

    chip: str
    target: str
    cores: int
    library: Path | None
    runtime: str | None
    driver: str | None


def find_npu(root: Path = Path("/")) -> Npu | None:
    """None on a board that has none of these chips; `root` holds proc, sys and usr."""
    chip = chip_of(_read(root / COMPATIBLE))
    if chip is None:
        return None
    library = root / LIBRARY
    there = library.is_file()
    target, cores = CHIPS[chip]
    return Npu(
        chip=chip,
        target=target,
        cores=cores,
        library=library if there else None,
        runtime=library_version(library) if there else None,
        driver=driver_version(root),
    )


def chip_of(compatible: str) -> str | None:
    """From the device tree's list, most special first: "radxa,rock-5b\\0rockchip,rk3588\\0"."""
    for entry in compatible.split("\0"):
        maker, _, name = entry.partition(",")
        if maker == "rockchip" and name in CHIPS:
            return name
    return None


def library_version(library: Path) -> str | None:
    """What the runtime library says of itself; it is read as a file, not loaded."""
    try:
        with library.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as text:
            found = _LIBRARY_VERSION.search(text)
            return None if found is None else found[1].decode()
    except (OSError, ValueError):  # ValueError: an empty file
        return None


def driver_version(root: Path) -> str | None:
    """Of the kernel's NPU driver, "RKNPU driver: v0.9.8"; debugfs shows it to root only."""
    for file in DRIVER_FILES:
        found = _VERSION.search(_read(root / file))
        if found is not None:
            return found[0]
    return None


def is_older(version: str, needed: str) -> bool:
    """Compares the numbers of two versions; what is not said counts as 0."""
    have, want = _numbers(version), _numbers(needed)
    length = max(len(have), len(want))
    return have + (0,) * (length - len(have)) < want + (0,) * (length - len(want))


def _numbers(version: str) -> tuple[int, ...]:
    found = _VERSION.search(version) or re.search(r"\d+", version)
    return () if found is None else tuple(int(part) for part in found[0].split("."))


def _read(file: Path) -> str:
    try:
        return file.read_bytes()[:4096].decode("utf-8", "replace")
    except OSError:
        return ""
