"""Answers in a configuration: what was asked changes, all else stays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edgefaced.errors import UsageError
from edgefaced.setup.amend import SecretPlaces, amended
from edgefaced.setup.answers import (
    Answers,
    AttendanceAnswer,
    CameraAnswer,
    ChipAnswer,
    DoorAnswer,
    MqttAnswer,
    camera_answer,
    chip_answer,
)

NOWHERE = SecretPlaces()
PASSWORD, KEY = "/etc/x/mqtt.password", "/etc/x/webhook.key"
FILES = SecretPlaces(Path(PASSWORD), Path(KEY))
DOOR = DoorAnswer(
    name="front",
    chip=ChipAnswer("gpiochip", "pinctrl-rp1"),
    relay_line="GPIO17",
    relay_active_low=False,
    pulse_ms=3000,
    members="staff",
    weekly=(),
    photographs_may_open=False,
)
BROKER = MqttAnswer("broker", None, True, None, "door", "geheim")


def after(table: dict[str, Any], secrets: SecretPlaces = NOWHERE, **answers: Any) -> dict[str, Any]:
    return amended(table, Answers("commercial", **answers), secrets)


@pytest.mark.parametrize(
    "text", ["first", "/dev/video0", "usb: HD Webcam", "picamera2", "picamera2:imx708"]
)
def test_a_camera_is_written_as_it_is_read(text: str) -> None:
    assert str(camera_answer(text)) == text


def test_a_camera_changes_its_own_keys_only(tmp_path: Path) -> None:
    table = {"camera": {"width_px": 640, "device": "old"}, "policy": {"window_frames": 7}}
    replay = camera_answer(f"replay:{tmp_path}")
    assert replay == CameraAnswer("replay", replay=tmp_path)
    shown = after(table, camera=replay)
    assert shown["camera"] == {
        "width_px": 640,
        "kind": "replay",
        "replay_paths": [str(tmp_path)],
        "replay_loop": True,
    }
    assert shown["policy"] == table["policy"]
    back = after(shown, camera=camera_answer("C920"))
    assert back["camera"] == {"width_px": 640, "kind": "v4l2", "device": "C920"}
    assert table["camera"] == {"width_px": 640, "device": "old"}, "the table itself is left alone"
    assert after(table)["camera"] == table["camera"]


def test_a_door_with_its_group_and_hours() -> None:
    table = after({}, door=replace(DOOR, weekly=("mon-fri 07:00-18:00",)))
    assert table["doors"]["front"]["liveness"] == "required"
    assert table["groups"] == {"staff": {"doors": ["front"], "schedule": "front"}}
    assert table["schedules"] == {"front": {"weekly": ["mon-fri 07:00-18:00"]}}
    always = after(table, door=DOOR)
    assert always["groups"] == {"staff": {"doors": ["front"]}}
    everybody = after(table, door=replace(DOOR, members="everybody", photographs_may_open=True))
    assert everybody["groups"]["staff"]["doors"] == []
    assert everybody["groups"]["everybody"] == {"doors": ["front"]}
    assert everybody["doors"]["front"]["liveness"] == "not required"
    as_it_was = after(table, door=replace(DOOR, members=None, pulse_ms=900))
    assert as_it_was["groups"] == table["groups"]
    assert as_it_was["doors"]["front"]["pulse_ms"] == 900


def test_a_group_with_other_doors_keeps_its_hours() -> None:
    table = after({}, door=replace(DOOR, weekly=("mon 07:00-18:00",)))
    back = replace(DOOR, name="back")
    with pytest.raises(UsageError, match="opens front as well"):
        after(table, door=back)
    same = after(table, door=replace(back, weekly=("mon 07:00-18:00",)))
    assert same["groups"]["staff"] == {"doors": ["front", "back"], "schedule": "front"}
    assert list(same["schedules"]) == ["front"]


def test_pins_for_trying_out(tmp_path: Path) -> None:
    chip = chip_answer(f"file:{tmp_path}")
    assert str(chip) == f"file:{tmp_path}"
    door = after({}, door=replace(DOOR, chip=chip, relay_active_low=True))["doors"]["front"]
    assert (door["chip_kind"], door["chip"]) == ("file", str(tmp_path))
    assert door["relay_active_low"] is True
    buttons = AttendanceAnswer("button", chip=chip, in_line="5", out_line="6")
    assert after({}, attendance=buttons)["attendance"] == {
        "enabled": True,
        "mode": "button",
        "button_chip_kind": "file",
        "button_chip": str(tmp_path),
        "in_button_line": "5",
        "out_button_line": "6",
    }


def test_attendance_by_the_time_of_day() -> None:
    answer = AttendanceAnswer("schedule", "09:30", "16:00")
    assert after({"attendance": {"cool_down_seconds": 60}}, attendance=answer)["attendance"] == {
        "cool_down_seconds": 60,
        "enabled": True,
        "mode": "schedule",
        "in_until": "09:30",
        "out_from": "16:00",
    }


def test_a_password_never_stands_in_the_configuration() -> None:
    written = after({}, FILES, mqtt=BROKER, webhook="https://example.org/x")
    assert "geheim" not in repr(written) + repr(BROKER)
    assert written["mqtt"]["password_file"] == PASSWORD
    assert written["webhook"]["key_file"] == KEY
    of_the_unit = after({}, NOWHERE, mqtt=BROKER, webhook="https://example.org/x")
    assert "password_file" not in of_the_unit["mqtt"]
    assert of_the_unit["webhook"] == {"url": "https://example.org/x"}
    kept = after(written, FILES, mqtt=replace(BROKER, password=None, tls=False, port=1883))
    assert kept["mqtt"]["password_file"] == PASSWORD
    assert (kept["mqtt"]["tls"], kept["mqtt"]["port"]) == (False, 1883)
    nobody = after(written, FILES, mqtt=replace(BROKER, username=None, password=None))
    assert nobody["mqtt"] == {"host": "broker"}


def test_what_is_taken_away_leaves_the_rest_of_its_section() -> None:
    table = after(
        {"mqtt": {"prefix": "site"}, "attendance": {"time_zone": "Europe/Berlin"}},
        FILES,
        door=DOOR,
        attendance=AttendanceAnswer("in"),
        mqtt=replace(BROKER, ca_file=Path("/etc/ca.pem")),
        lines=Path("/var/lib/edgefaced/lines"),
        webhook="https://example.org",
    )
    assert table["lines"] == {"path": "/var/lib/edgefaced/lines"}
    assert table["mqtt"]["ca_file"] == "/etc/ca.pem"
    gone = after(
        table, FILES, without=frozenset({"door", "attendance", "mqtt", "webhook", "lines"})
    )
    assert "doors" not in gone
    assert "lines" not in gone
    assert gone["groups"]["staff"]["doors"] == []
    assert gone["attendance"] == {"time_zone": "Europe/Berlin", "mode": "in"}
    assert gone["mqtt"]["prefix"] == "site"
    assert "host" not in gone["mqtt"]
    assert "url" not in gone["webhook"]


def test_a_machine_without_a_thermometer_reads_none_unless_something_is_said() -> None:
    assert after({}, no_thermometer=True)["thermal"] == {"zones": []}
    said = {"thermal": {"latency_budget_ms": 50}}
    assert after(said, no_thermometer=True)["thermal"] == {"latency_budget_ms": 50, "zones": []}
    zones = {"thermal": {"zones": ["soc"]}}
    assert after(zones, no_thermometer=False)["thermal"] == {"zones": ["soc"]}
