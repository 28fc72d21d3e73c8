"""Power meters as the kernel shows them, and those that cannot be read."""

from __future__ import annotations

from pathlib import Path

from edgefaced.sensors.power import read_power


def meter(hwmon: Path, number: int, **files: str) -> None:
    folder = hwmon / f"hwmon{number}"
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)


def test_meters_are_named_by_chip_and_label(tmp_path: Path) -> None:
    meter(tmp_path, 0, name="ina226\n", power1_input="4250000\n", power1_label="12V in\n")
    meter(tmp_path, 1, name="ina3221\n", power1_input="100000\n", power2_input="-2\n")
    assert read_power(tmp_path) == {
        "ina226 12V in": 4.25,
        "ina3221 power1": 0.1,
        "ina3221 power2": -2e-6,
    }


def test_what_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    meter(tmp_path, 0, name="ina226\n", power1_input="\n")
    meter(tmp_path, 1, power1_input="100000\n")
    meter(tmp_path, 2, name="cpu\n", temp1_input="45000\n")
    assert read_power(tmp_path) == {}
    assert read_power(tmp_path / "none") == {}
