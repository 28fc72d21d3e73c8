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


def remove(place: Path) -> None:
    for file in place.iterdir():
        file.unlink()
    place.rmdir()


def firmware(folder: Path, flags: str) -> None:
    device = folder / "firmware" / "soc:firmware"
    device.mkdir(parents=True)
    (device / "get_throttled").write_text(flags + "\n")


def sensor(folder: Path, *patterns: str) -> ZoneSensor:
    return ZoneSensor(patterns or ("*",), zones=folder, firmware=folder / "firmware")


def test_the_hottest_zone_counts(tmp_path: Path) -> None:
    zone(tmp_path, 0, "cpu-thermal", "45123")
    zone(tmp_path, 1, "npu-thermal", "61500")
    thermal = sensor(tmp_path)
    assert thermal.read() == 61.5
    assert thermal.zones == {"cpu-thermal": 45.123, "npu-thermal": 61.5}
    assert sensor(tmp_path, "cpu*").read() == 45.123


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


def test_every_named_zone_must_be_there(tmp_path: Path) -> None:
    zone(tmp_path, 0, "cpu-thermal", "45000")
    with pytest.raises(SensorError, match="no thermal zone of type npu-thermal"):
        sensor(tmp_path, "cpu*", "npu-thermal").read()


def test_a_zone_that_goes_is_missed_until_it_is_back_under_any_number(tmp_path: Path) -> None:
    zone(tmp_path, 0, "cpu-thermal", "45000")
    zone(tmp_path, 1, "npu-thermal", "51000")
    thermal = sensor(tmp_path)
    assert thermal.read() == 51
    remove(tmp_path / "thermal_zone1")
    for _ in range(2):
        with pytest.raises(SensorError, match="has gone: npu-thermal"):
            thermal.read()
        assert thermal.zones == {}
    zone(tmp_path, 7, "npu-thermal", "53000")
    assert thermal.read() == 53


def test_a_zone_that_comes_is_read_and_then_missed_as_any_other(tmp_path: Path) -> None:
    zone(tmp_path, 0, "soc-thermal", "45000")
    thermal = sensor(tmp_path)
    assert thermal.read() == 45
    zone(tmp_path, 1, "soc-thermal", "70000")
    assert thermal.read() == 70
    assert thermal.zones == {"soc-thermal thermal_zone0": 45, "soc-thermal thermal_zone1": 70}
    remove(tmp_path / "thermal_zone0")
    with pytest.raises(SensorError, match="has gone: soc-thermal"):
        thermal.read()


def test_a_zone_of_a_type_nobody_asked_for_may_go(tmp_path: Path) -> None:
    zone(tmp_path, 0, "cpu-thermal", "45000")
    zone(tmp_path, 1, "wifi", "40000")
    thermal = sensor(tmp_path, "cpu*")
    assert thermal.read() == 45
    remove(tmp_path / "thermal_zone1")
    assert thermal.read() == 45


def test_a_zone_that_is_just_going_is_passed_over_and_one_that_hides_its_type_is_not(
    tmp_path: Path,
) -> None:
    zone(tmp_path, 0, "cpu-thermal", "45000")
    (tmp_path / "thermal_zone1").mkdir()
    assert sensor(tmp_path).read() == 45
    (tmp_path / "thermal_zone1" / "type").mkdir()
    with pytest.raises(SensorError, match="thermal_zone1/type: Is a directory"):
        sensor(tmp_path).read()


@pytest.mark.parametrize(
    ("flags", "celsius"),
    [
        ("0", 45),
        ("50000", 45),  # it was throttled once
        ("1", 45),  # a weak supply is no heat
        ("4", PI_HOT_CELSIUS),
        ("8", PI_HOT_CELSIUS),
        ("50005", PI_HOT_CELSIUS),
    ],
)
def test_a_pi_that_throttles_is_hot(tmp_path: Path, flags: str, celsius: float) -> None:
    zone(tmp_path, 0, "cpu-thermal", "45000")
    firmware(tmp_path, flags)
    assert sensor(tmp_path).read() == celsius


def test_firmware_that_talks_nonsense_counts_as_hot(tmp_path: Path) -> None:
    zone(tmp_path, 0, "cpu-thermal", "45000")
    firmware(tmp_path, "junk")
    with pytest.raises(SensorError, match="get_throttled: no number"):
        sensor(tmp_path).read()


def test_a_scripted_sensor_ends_with_its_last_reading() -> None:
    scripted = ScriptedSensor([40.0, SensorError("broken"), 50.0])
    assert scripted.read() == 40
    with pytest.raises(SensorError):
        scripted.read()
    assert [scripted.read(), scripted.read()] == [50, 50]
