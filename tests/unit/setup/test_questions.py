"""What is asked, what is not, and which answers come of it; nobody sits at a terminal here."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from edgefaced.camera.found import FoundCamera
from edgefaced.config.settings import Settings
from edgefaced.errors import UsageError
from edgefaced.gpio.found import FoundChip, FoundLine
from edgefaced.models.catalogue import catalogue
from edgefaced.service.units import sample_configuration
from edgefaced.setup.answers import (
    Answers,
    AttendanceAnswer,
    CameraAnswer,
    ChipAnswer,
    DoorAnswer,
    MqttAnswer,
    Source,
)
from edgefaced.setup.asking import Answer, Choice, Nobody, Question
from edgefaced.setup.here import Here, Pack
from edgefaced.setup.questions import ask
from edgefaced.setup.wishes import Standing, Wishes


@dataclass
class Installer:
    """Answers by the option that would have answered; every other question gets its default."""

    answers: dict[str, Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    present: bool = True

    def say(self, line: str) -> None:
        self.told.append(line)

    def choose(
        self,
        question: Question,
        choices: Sequence[Choice],
        default: str | None,
        *,
        closed: bool = False,
    ) -> str:
        names = [choice.name for choice in choices]
        assert default is None or default in names
        answer = str(self._answer(question, default))
        assert not closed or answer in names
        return answer

    def text(
        self, question: Question, default: str | None, read: Callable[[str], Answer]
    ) -> Answer:
        return read(self._answer(question, default))

    def agree(self, question: Question, *, default: bool) -> bool:
        return bool(self._answer(question, default))

    def secret(self, question: Question) -> str | None:
        return self.answers.get(question.option)

    def _answer(self, question: Question, default: Any) -> Any:
        self.asked.append(question.option)
        answer = self.answers.get(question.option, default)
        if isinstance(answer, list):  # one after the other
            answer = answer.pop(0)
        assert answer is not None, question
        return answer


LINES = (FoundLine(4, "GPIO4", ""), FoundLine(17, "GPIO17", "spi"), FoundLine(20, "relay", ""))
PACKS = tuple(Pack(manifest, ready=False) for manifest in catalogue().values())
PI = Here(
    cameras=(FoundCamera("picamera2", "imx708", "imx708"), FoundCamera("v4l2", "by-id", "C920")),
    chips=(
        FoundChip("raspberrypi-exp-gpio", Path("/dev/gpiochip1"), ()),
        FoundChip("pinctrl-rp1", Path("/dev/gpiochip0"), LINES),
    ),
    packs=PACKS,
)
BARE = Here(packs=PACKS, thermometer=False, obstacle="only root can")
PASSWORD = "geheim"  # noqa: S105 - nobody's
FRESH = Standing({}, Settings())

WITH_A_DOOR: dict[str, Any] = {
    "camera": {"kind": "replay", "replay_paths": ["/a", "/b"], "replay_pace": "fast"},
    "models": {"pack": "reference"},
    "thermal": {"zones": []},
    "mqtt": {"host": "broker", "username": "door", "tls": False},
    "doors": {
        "back": {
            "chip": "pinctrl-rp1",
            "relay_line": "GPIO4",
            "pulse_ms": 1500,
            "liveness": "not required",
        }
    },
    "groups": {"staff": {"doors": ["back"], "schedule": "office"}},
    "schedules": {"office": {"weekly": ["mon-fri 07:00-18:00", "sat 09:00-12:00"]}},
}


def standing(table: dict[str, Any]) -> Standing:
    return Standing(table, Settings.model_validate(table))


def unattended(wishes: Wishes, at: Standing = FRESH, here: Here = PI) -> Answers:
    return ask(Nobody(lambda line: None), wishes, at, here)


def test_the_defaults_of_a_board_with_pins_are_a_door_at_them() -> None:
    answers = ask(Installer(), Wishes(), FRESH, PI)
    assert answers == Answers(
        pack="commercial",
        source=Source.NETWORK,
        camera=CameraAnswer("picamera2", "imx708"),
        door=DoorAnswer(
            name="front",
            chip=ChipAnswer("gpiochip", "pinctrl-rp1"),
            relay_line="relay",
            relay_active_low=False,
            pulse_ms=3000,
            members="everybody",
            weekly=(),
            photographs_may_open=False,
        ),
        service=True,
    )


def test_the_defaults_of_a_bare_machine_are_attendance_and_the_first_camera() -> None:
    installer = Installer()
    answers = ask(installer, Wishes(), FRESH, BARE)
    assert answers.camera == CameraAnswer("v4l2")
    assert answers.attendance == AttendanceAnswer("alternating")
    assert answers.door is None
    assert answers.no_thermometer
    assert not answers.service
    said = " ".join(installer.told)
    assert "No camera" in said
    assert "no temperature" in said
    assert "only root can" in said


def test_what_stands_is_the_default_and_is_kept() -> None:
    at = standing(WITH_A_DOOR)
    answers = ask(Installer({"--accept-licence reference": True}), Wishes(), at, PI)
    assert answers.camera is None, "two recordings are more than an answer says"
    assert (answers.pack, answers.without) == ("reference", frozenset())
    assert answers.door == DoorAnswer(
        name="back",
        chip=ChipAnswer("gpiochip", "pinctrl-rp1"),
        relay_line="GPIO4",
        relay_active_low=False,
        pulse_ms=1500,
        members="staff",
        weekly=("mon-fri 07:00-18:00", "sat 09:00-12:00"),
        photographs_may_open=True,
    )
    assert answers.mqtt == MqttAnswer("broker", None, False, None, "door", None)


def test_what_is_not_wanted_any_more_goes() -> None:
    installer = Installer(
        {"--door": "attendance", "--mqtt": "none", "--accept-licence reference": True}
    )
    answers = ask(installer, Wishes(), standing(WITH_A_DOOR), PI)
    assert answers.without == {"door", "mqtt"}
    assert (answers.door, answers.mqtt) == (None, None)


def test_what_the_command_line_says_is_not_asked() -> None:
    installer = Installer()
    wishes = Wishes(
        camera="C920",
        pack="commercial",
        no_pull=True,
        attendance="schedule",
        in_until="08:00",
        out_from="16:30",
        lines=Path("/x/lines"),
        service=False,
    )
    answers = ask(installer, wishes, FRESH, PI)
    assert installer.asked == []
    assert answers.source is Source.LATER
    assert answers.attendance == AttendanceAnswer("schedule", "08:00", "16:30")
    assert answers.lines == Path("/x/lines")


def test_a_licence_needs_a_yes_that_is_not_the_default() -> None:
    installer = Installer({"--pack": ["reference", "buffalo-sc", "commercial"]})
    answers = ask(installer, Wishes(), FRESH, PI)
    assert answers.pack == "commercial"
    assert [a for a in installer.asked if a.startswith("--accept")] == [
        "--accept-licence reference",
        "--accept-licence buffalo-sc",
    ]
    assert any("non-commercial" in line.lower() for line in installer.told)
    with pytest.raises(UsageError, match="may not be used commercially") as refusal:
        unattended(Wishes(pack="reference"))
    assert "--accept-licence reference" in refusal.value.hint
    assert unattended(Wishes(pack="reference", accepted=("reference",))).pack == "reference"
    ready = replace(PI, packs=tuple(replace(pack, ready=True) for pack in PACKS))
    kept = unattended(Wishes(), standing({"models": {"pack": "reference"}}), ready)
    assert (kept.pack, kept.source) == ("reference", Source.HERE), "agreed to when it was brought"


def test_a_pack_of_ones_own_comes_with_its_manifest() -> None:
    stick = Path("/media/stick")
    with pytest.raises(UsageError, match="no model pack 'ours'"):
        unattended(Wishes(pack="ours"))
    with pytest.raises(UsageError, match="licence of ours is not known"):
        unattended(Wishes(pack="ours", source=stick))
    answers = unattended(Wishes(pack="ours", source=stick, accepted=("ours",)))
    assert (answers.pack, answers.source) == ("ours", stick)
    typed = ask(Installer({"--from": "/media/stick"}), Wishes(), FRESH, PI)
    assert typed.source == stick


def test_nobody_at_the_terminal_changes_only_what_was_said() -> None:
    assert unattended(Wishes(), standing(WITH_A_DOOR | {"models": {"pack": "commercial"}})) == (
        Answers(pack="commercial", source=Source.NETWORK, service=True)
    )
    assert unattended(Wishes(without=("door",))).without == {"door"}
    sample = standing(tomllib.loads(sample_configuration()))
    fresh = unattended(Wishes(), sample)
    assert fresh == unattended(Wishes()), "the sample says nothing"
    assert fresh.camera == CameraAnswer("picamera2", "imx708")
    assert (fresh.door, fresh.attendance, fresh.without) == (None, None, frozenset())


def test_a_door_by_options_lets_nobody_in_that_was_not_named() -> None:
    door = unattended(Wishes(door="front", relay="4")).door
    assert door is not None
    assert (door.members, door.weekly, door.photographs_may_open) == (None, (), False)
    assert door.relay_line == "4", "by its offset"
    wishes = Wishes(
        door="front",
        chip="file:/pins",
        relay="any",
        relay_active_low=True,
        pulse="0,5",
        members="staff",
        weekly=("mon 07:00-18:00", "tue 07:00-18:00"),
        photographs_may_open=True,
    )
    assert unattended(wishes).door == DoorAnswer(
        "front",
        ChipAnswer("file", "/pins"),
        "any",
        True,
        500,
        "staff",
        ("mon 07:00-18:00", "tue 07:00-18:00"),
        True,
    )


@pytest.mark.parametrize(
    ("wishes", "fault"),
    [
        (Wishes(door="Front Door"), "--door Front Door: small letters"),
        (Wishes(door="front", relay="GPIO99"), "pinctrl-rp1 has no such line"),
        (Wishes(door="front", relay="4", pulse="60"), "--pulse 60: 0.05 to 30"),
        (Wishes(door="front", relay="4", pulse="soon"), "--pulse soon: seconds"),
        (Wishes(door="front", relay="4", pulse="nan"), "--pulse nan: 0.05"),
        (Wishes(door="front", relay="4", members="staff", weekly=("noon",)), "no span of a week"),
        (Wishes(door="front", relay="4", weekly=("mon 07:00-18:00",)), "--when without --for"),
        (Wishes(relay="4"), "--door"),
        (Wishes(in_until="07:00"), "--attendance"),
        (Wishes(attendance="schedule", in_until="7"), "--in-until 7: hours and minutes"),
        (Wishes(attendance="button", button_chip="pinctrl-rp1"), "--in-button"),
        (Wishes(mqtt_user="door"), "--mqtt"),
    ],
)
def test_options_that_do_not_fit_are_named(wishes: Wishes, fault: str) -> None:
    with pytest.raises(UsageError) as refusal:
        unattended(wishes)
    assert fault in str(refusal.value)


def test_a_relay_is_not_guessed() -> None:
    unnamed = replace(PI, chips=(FoundChip("soc", Path("/dev/gpiochip0"), LINES[:2]),))
    with pytest.raises(UsageError, match="Which line switches") as refusal:
        unattended(Wishes(door="front"), here=unnamed)
    assert refusal.value.hint == "say --relay"
    with pytest.raises(UsageError, match="Which GPIO chip"):
        unattended(Wishes(door="front"), here=BARE)


def test_chips_of_one_label_are_told_apart_by_their_nodes() -> None:
    twice = replace(PI, chips=tuple(FoundChip("gpio", Path(f"/dev/c{n}"), LINES) for n in (1, 2)))
    door = ask(Installer({"--chip": "/dev/c2"}), Wishes(), FRESH, twice).door
    assert door is not None
    assert door.chip == ChipAnswer("gpiochip", "/dev/c2")


def test_who_may_pass_stays_where_several_groups_may() -> None:
    groups = {"groups": {name: {"doors": ["back"]} for name in ("staff", "night")}}
    installer = Installer({"--accept-licence reference": True})
    door = ask(installer, Wishes(), standing(WITH_A_DOOR | groups), PI).door
    assert door is not None
    assert door.members is None
    assert any("staff, night" in line for line in installer.told)


def test_nobody_yet_may_pass_a_new_door() -> None:
    door = ask(Installer({"--for": "single"}), Wishes(), FRESH, PI).door
    assert door is not None
    assert (door.members, door.weekly) == (None, ())


def test_attendance_by_buttons() -> None:
    installer = Installer(
        {
            "--door": "attendance",
            "--attendance": "button",
            "--button-chip": [True, "pinctrl-rp1"],
            "--in-button": "GPIO4",
            "--out-button": "20",
        }
    )
    answers = ask(installer, Wishes(), FRESH, PI)
    assert answers.attendance == AttendanceAnswer(
        "button", None, None, ChipAnswer("gpiochip", "pinctrl-rp1"), "GPIO4", "20"
    )
    pressed = ask(
        Installer({"--door": "attendance", "--attendance": "button"}), Wishes(), FRESH, PI
    )
    assert pressed.attendance == AttendanceAnswer("button")
    table = {
        "attendance": {
            "enabled": True,
            "mode": "button",
            "button_chip": "pinctrl-rp1",
            "in_button_line": "GPIO4",
            "out_button_line": "relay",
        }
    }
    again = ask(Installer(), Wishes(), standing(table), PI).attendance
    assert again is not None
    assert (again.in_line, again.out_line) == ("GPIO4", "relay")


def test_whom_events_are_sent_to() -> None:
    installer = Installer(
        {
            "--mqtt, --webhook, --lines": True,
            "--mqtt": "broker",
            "--mqtt-user": "door",
            "--mqtt-password-file": PASSWORD,
            "--webhook": "https://example.org/x",
            "--lines": "/x/lines",
        }
    )
    answers = ask(installer, Wishes(), FRESH, PI)
    assert answers.mqtt == MqttAnswer("broker", None, True, None, "door", PASSWORD)
    assert (answers.webhook, answers.lines) == ("https://example.org/x", Path("/x/lines"))
    wishes = Wishes(mqtt="b", mqtt_port=1, mqtt_ca=Path("/ca"), mqtt_user="u")
    wishes = replace(wishes, mqtt_password=PASSWORD)
    assert unattended(wishes).mqtt == MqttAnswer("b", 1, True, Path("/ca"), "u", PASSWORD)
    plain = unattended(Wishes(mqtt="b", mqtt_plain=True, mqtt_ca=Path("/ca"))).mqtt
    assert plain == MqttAnswer("b", None, False, None, None, None)


def test_a_service_that_cannot_be_is_an_error_only_where_it_was_asked_for() -> None:
    assert not unattended(Wishes(), here=BARE).service
    with pytest.raises(UsageError, match="only root can"):
        unattended(Wishes(service=True), here=BARE)
    assert not unattended(Wishes(service=False), here=BARE).service


def test_what_the_board_has_and_lacks_is_told() -> None:
    installer = Installer()
    ask(installer, Wishes(), FRESH, replace(PI, npu="rk3588", blind="GPIO needs a package"))
    assert any("NPU of an rk3588" in line for line in installer.told)
    assert "GPIO needs a package" in installer.told
