"""Answers put into a configuration's table; all else in it stays."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgefaced.errors import UsageError
from edgefaced.setup.answers import Answers, AttendanceAnswer, CameraAnswer, DoorAnswer, MqttAnswer
from edgefaced.setup.commented import Table


@dataclass(frozen=True, slots=True)
class SecretPlaces:
    """Where the configuration is told to look for secrets; None is the unit's credential."""

    mqtt_password: Path | None = None
    webhook_key: Path | None = None


def amended(table: Table, answers: Answers, secrets: SecretPlaces) -> dict[str, Any]:
    """A new table. Raises UsageError for a group whose other doors would get another schedule."""
    new: dict[str, Any] = deepcopy(dict(table))
    _set(new, "models", pack=answers.pack)
    if answers.camera is not None:
        _camera(new, answers.camera)
    if answers.door is not None:
        _door(new, answers.door)
    if answers.attendance is not None:
        _attendance(new, answers.attendance)
    if answers.mqtt is not None:
        _mqtt(new, answers.mqtt, secrets.mqtt_password)
    if answers.webhook is not None:
        _set(new, "webhook", url=answers.webhook)
        if secrets.webhook_key is not None:
            _set(new, "webhook", key_file=str(secrets.webhook_key))
    if answers.lines is not None:
        _set(new, "lines", path=str(answers.lines))
    if answers.no_thermometer:
        _set(new, "thermal", zones=[])
    _take_away(new, answers)
    return {name: section for name, section in new.items() if section}


def _camera(new: dict[str, Any], answer: CameraAnswer) -> None:
    replay = answer.replay
    _set(
        new,
        "camera",
        kind=answer.kind,
        device=answer.device,
        replay_paths=None if replay is None else [str(replay)],
        # A camera does not end.
        replay_loop=None if replay is None else True,
    )


def _door(new: dict[str, Any], answer: DoorAnswer) -> None:
    door = new.setdefault("doors", {}).setdefault(answer.name, {})
    _update(
        door,
        chip_kind="file" if answer.chip.kind == "file" else None,
        chip=answer.chip.name,
        relay_line=answer.relay_line,
        relay_active_low=True if answer.relay_active_low else None,
        pulse_ms=answer.pulse_ms,
        liveness="not required" if answer.photographs_may_open else "required",
    )
    if answer.members is None:
        return
    groups = new.setdefault("groups", {})
    group = groups.setdefault(answer.members, {})
    for other in groups.values():
        if other is not group and answer.name in other.get("doors", ()):
            other["doors"] = [door for door in other["doors"] if door != answer.name]
    schedule = _schedule(new, answer, group)
    others = [door for door in group.get("doors", ()) if door != answer.name]
    if others and schedule != group.get("schedule"):
        raise UsageError(
            f"the group {answer.members} opens {', '.join(others)} as well, at its own times",
            "name another group with --for",
        )
    group["doors"] = [*others, answer.name]
    _update(group, schedule=schedule)


def _schedule(new: dict[str, Any], answer: DoorAnswer, group: Table) -> str | None:
    """The schedule's name: the one that the group has where it says the same, else the door's."""
    if not answer.weekly:
        return None
    schedules = new.setdefault("schedules", {})
    had = group.get("schedule")
    if list(schedules.get(had, {}).get("weekly", ())) == list(answer.weekly):
        return str(had)
    schedules.setdefault(answer.name, {})["weekly"] = list(answer.weekly)
    return answer.name


def _attendance(new: dict[str, Any], answer: AttendanceAnswer) -> None:
    _set(new, "attendance", enabled=True, mode=answer.mode)
    if answer.in_until is not None:
        _set(new, "attendance", in_until=answer.in_until, out_from=answer.out_from)
    if answer.chip is not None:
        _set(
            new,
            "attendance",
            button_chip_kind="file" if answer.chip.kind == "file" else None,
            button_chip=answer.chip.name,
            in_button_line=answer.in_line,
            out_button_line=answer.out_line,
        )


def _mqtt(new: dict[str, Any], answer: MqttAnswer, password_file: Path | None) -> None:
    ca_file = answer.ca_file
    _set(
        new,
        "mqtt",
        host=answer.host,
        port=answer.port,
        tls=None if answer.tls else False,
        ca_file=None if ca_file is None else str(ca_file),
        username=answer.username,
    )
    if answer.username is None:
        _set(new, "mqtt", password_file=None)
    elif answer.password is not None:
        _set(new, "mqtt", password_file=None if password_file is None else str(password_file))


def _take_away(new: dict[str, Any], answers: Answers) -> None:
    if "door" in answers.without:
        new.pop("doors", None)
        for group in new.get("groups", {}).values():
            group["doors"] = []
    if "attendance" in answers.without:
        _set(new, "attendance", enabled=None)
    for part, key in (("mqtt", "host"), ("webhook", "url"), ("lines", "path")):
        if part in answers.without:
            _set(new, part, **{key: None})


def _set(new: dict[str, Any], section: str, **values: Any) -> None:
    _update(new.setdefault(section, {}), **values)


def _update(table: dict[str, Any], **values: Any) -> None:
    """None takes a key away."""
    for key, value in values.items():
        if value is None:
            table.pop(key, None)
        else:
            table[key] = value
