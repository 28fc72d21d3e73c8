"""Doors, schedules and groups of a configuration: what is written, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from edgefaced.config.doors import AccessSection, ScheduleSection, day_number, spans
from edgefaced.config.settings import Settings, read_settings
from edgefaced.core.schedule import DAY_SECONDS, Span
from edgefaced.core.wiegand import WiegandFormat
from edgefaced.doors.plan import cautions, locks_of, plans_of
from edgefaced.errors import ConfigError
from edgefaced.gpio.lines import Bias

HOUR = 3600
RELAY = {"chip": "pins", "relay_line": "GPIO17"}


def settings(**sections: Any) -> Settings:
    return Settings.model_validate(sections)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mon 07:00-18:00", [Span(0, 7 * HOUR, 11 * HOUR)]),
        ("sat,SUN 00:00-24:00", [Span(5, 0, DAY_SECONDS), Span(6, 0, DAY_SECONDS)]),
        ("fri 22:30-06:00", [Span(4, 22 * HOUR + 1800, 7 * HOUR + 1800)]),
        ("fri-mon 10:00-11:00", [Span(d, 10 * HOUR, HOUR) for d in (0, 4, 5, 6)]),
        ("mon,mon-tue 10:00-11:00", [Span(d, 10 * HOUR, HOUR) for d in (0, 1)]),
        ("daily 12:00-12:00", [Span(d, 12 * HOUR, DAY_SECONDS) for d in range(7)]),
    ],
)
def test_spans_as_people_write_them(text: str, expected: list[Span]) -> None:
    assert list(spans(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "mon", "mon 7-18", "mon 07:00", "monday 07:00-18:00", "mon 07:00-25:00",
        "mon 07:60-08:00", "mon 24:00-24:00", "mon-fri-sat 07:00-08:00", "mon 07:00 - 18:00",
        "mon ٠٧:00-18:00x", "mon -7:00-18:00", "mon, 07:00-18:00",
    ],
)  # fmt: skip
def test_what_is_no_span_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match=r"mon-fri 07:00-18:00"):
        spans(text)
    with pytest.raises(ValueError, match=r"no span of a week"):
        ScheduleSection(weekly=(text,))


def test_holidays_are_days_and_ranges() -> None:
    section = AccessSection(holidays=("2026-12-25", "2026-12-31/2027-01-01"))
    first = day_number("2026-12-25")
    assert section.holiday_numbers() == {first, first + 6, first + 7}
    for text in ("Christmas", "2026-12-25/2026-12-24", "2026-02-30", "2026-01-01/2036-01-01", ""):
        with pytest.raises(ValueError, match="holidays"):
            AccessSection(holidays=(text,))


@pytest.mark.parametrize(
    ("door", "complaint"),
    [
        ({"relay_line": "GPIO17"}, "belongs to a chip"),
        ({"chip": "pins", "wiegand_zero_line": "d0"}, "belong together"),
        ({**RELAY, "button_line": "GPIO17"}, "the same"),
        ({**RELAY, "pulse_ms": 30_001}, "30000"),
        ({**RELAY, "pulse_ms": 0}, "50"),
        ({**RELAY, "liveness": "off"}, "required"),
        ({**RELAY, "wiegand_facility": 256}, "up to 255"),
        ({**RELAY, "area": "../x"}, "pattern"),
        ({**RELAY, "colour": "red"}, "Extra"),
        ({**RELAY, "minimum_score": float("nan")}, "finite"),
    ],
)
def test_a_door_that_cannot_be_is_refused(
    door: dict[str, Any], complaint: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=complaint):
        settings(doors={"front": door})


def test_names_of_doors_are_plain(tmp_path: Path) -> None:
    file = tmp_path / "edgefaced.toml"
    file.write_text('[doors."Front door/#"]\nchip = "x"\n')
    with pytest.raises(ConfigError, match="doors"):
        read_settings(file)


def test_a_door_becomes_lines_and_demands() -> None:
    config = settings(
        doors={
            "front": {
                **RELAY,
                "chip_kind": "file",
                "relay_active_low": True,
                "wiegand_zero_line": "d0",
                "wiegand_one_line": "d1",
                "wiegand_bits": 34,
                "wiegand_facility": 300,
                "button_line": "b",
                "minimum_score": 0.6,
                "when_not_recorded": "open",
            },
            "back": {},
        },
        schedules={"office": {"weekly": ["mon-fri 07:00-18:00"]}},
        groups={"Staff": {"doors": ["front", "back"], "schedule": "office"}},
        access={"holidays": ["2026-12-25"], "unsynchronised_clock": "trust"},
    )
    plans = plans_of(config)
    front, back = plans.doors
    assert front.rule.needs_liveness
    assert (front.rule.minimum_score, front.rule.opens_unrecorded) == (0.6, True)
    assert front.rule.needs_card
    assert not back.rule.needs_card
    assert front.wires.relay is not None
    assert front.wires.relay.active_low
    assert front.wiegand is not None
    assert (front.wiegand.bits, front.wiegand.facility) == (WiegandFormat.BITS_34, 300)
    assert front.button is not None
    assert front.button.active_low
    assert front.button.bias is Bias.PULL_UP
    assert front.contact is None
    assert back.wires.outputs == ()
    assert [g.group for g in plans.rules.group_grants] == ["staff", "staff"]
    assert plans.rules.trusts_any_clock
    assert plans.rules.schedules[0].name == "office"
    assert locks_of(config) == (front.wires, back.wires)
    assert [w for w in cautions(config) if "no lock" in w] == [
        "doors.back has no lock: what is decided is only announced"
    ]


@pytest.mark.parametrize(
    ("sections", "complaint"),
    [
        ({"groups": {"a": {"doors": ["back"]}}}, r"groups.a.doors: no door 'back'.*front"),
        ({"groups": {"a": {"schedule": "x"}}}, r"groups.a.schedule: no schedule 'x'.*none"),
        ({"groups": {"Night  shift": {}, "night shift": {}}}, r"same group as groups.Night  shift"),
        ({"doors": {"front": RELAY, "back": RELAY}}, r"doors.back: line 'GPIO17'.*another door"),
    ],
)
def test_names_lead_somewhere_and_lines_are_not_shared(
    sections: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ConfigError, match=complaint):
        plans_of(settings(**{"doors": {"front": RELAY}, **sections}))


def test_what_an_installer_must_know_is_one_line_a_door() -> None:
    strict, loose = cautions(
        settings(doors={"front": RELAY, "back": {**RELAY, "liveness": "not required"}})
    )
    assert strict.startswith("doors.front opens for no face")
    assert "a photograph of somebody may open it" in loose
    there = {**RELAY, "camera": "/dev/video7"}
    other = {"doors": {"front": there}, "camera": {"device": "/dev/video0"}}
    same = {"doors": {"front": there}, "camera": {"device": "/dev/video7"}}
    said = "its camera is '/dev/video7', and the one of this daemon is '/dev/video0'"
    assert any(said in line for line in cautions(settings(**other)))
    assert not any("its camera" in line for line in cautions(settings(**same)))
    assert cautions(Settings()) == []
