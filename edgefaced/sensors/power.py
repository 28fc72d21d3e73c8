"""How much power the board draws, where it has a meter: the kernel's hardware monitors."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

HWMON = Path("/sys/class/hwmon")


def read_power(hwmon: Path = HWMON) -> dict[str, float]:
    """Watts by meter, as it is labelled; empty where there is none that can be read."""
    watts: dict[str, float] = {}
    for file in sorted(hwmon.glob("*/power*_input")):
        try:
            microwatts = int(file.read_bytes())
            chip = (file.parent / "name").read_text(encoding="ascii", errors="replace").strip()
        except (OSError, ValueError):
            continue  # a meter that is asleep says EAGAIN or nothing
        place = file.name.removesuffix("_input")
        label = file.with_name(f"{place}_label")
        with suppress(FileNotFoundError):
            place = label.read_text(encoding="ascii", errors="replace").strip() or place
        watts[f"{chip} {place}"] = microwatts / 1e6
    return watts
