"""Sysfs as it is on boards, broken in the ways it breaks."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgefaced.errors import SensorError
from edgefaced.sensors.thermal import PI_HOT_CELSIUS, ScriptedSensor, ZoneSensor


def zone(folder: Path, number: int, kind: str, temp: str | None) -> None:
    place = folder / f"thermal_zone{number}"
    place.mkdir(parents=True)
    (place / "type").write_text(kind + "\n")
    if temp is not None:
        (place / "temp").write_text(temp + "\n")


def sensor(folder: Path, *patterns: str) -> ZoneSensor:
    return ZoneSensor(patterns or ("*",), zones=folder, throttled=folder / "throttled")


def test_the_hottest_zone_counts(tmp_path: Path) -> None:
    zone(tmp_path, 0, "cpu-thermal", "45123")
    zone(tmp_path, 1, "npu-thermal", "61500")
    assert sensor(tmp_path).read() == 61.5
    assert sensor(tmp_path, "cpu*", "gpu*").read() == 45.123


def test_no_zone_wanted_is_no_reading(tmp_path: Path) -> None:
    assert ZoneSensor((), zones=tmp_path).read() is None


@pytest.mark.parametrize("temp", [None, "", "warm", "-273150", "2147483647"])
def test_one_zone_that_cannot_be_read_is_an_error_even_beside_a_good_one(
    tmp_path: Path, temp: str | None
) -> None:
    zone(tmp_path, 0, "cpu-thermal", "45000")
    zone(tmp_path, 1, "npu-thermal", temp)
    with pytest.raises(SensorError, match="thermal_zone1"):
        sensor(tmp_path).read()


def test_no_zone_at_all_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SensorError, match="no thermal zone of type npu"):
        sensor(tmp_path, "npu*").read()


def test_a_zone_without_a_type_is_passed_over(tmp_path: Path) -> None:
    zone(tmp_path, 0, "cpu-thermal", "45000")
    (tmp_path / "thermal_zone1").mkdir()
    assert sensor(tmp_path).read() == 45


@pytest.mark.parametrize(
    ("flags", "celsius"),
    [("0", 45), ("50000", 45), ("4", PI_HOT_CELSIUS), ("50005", PI_HOT_CELSIUS), ("junk", 45)],
)
def test_a_pi_that_throttles_is_hot(tmp_path: Path, flags: str, celsius: float) -> None:
    zone(tmp_path, 0, "cpu-thermal", "45000")
    (tmp_path / "throttled").write_text(flags)
    assert sensor(tmp_path).read() == celsius


def test_a_scripted_sensor_ends_with_its_last_reading() -> None:
    scripted = ScriptedSensor([40.0, SensorError("broken"), 50.0])
    assert scripted.read() == 40
    with pytest.raises(SensorError):
        scripted.read()
    assert [scripted.read(), scripted.read()] == [50, 50]
