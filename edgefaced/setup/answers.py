"""What an installer has answered, as values; None leaves a part of the configuration as it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal

from edgefaced.gpio.choose import ChipKind

Part = Literal["door", "attendance", "mqtt", "webhook", "lines"]
"""What a device may be set up without."""

Mode = Literal["in", "out", "alternating", "schedule", "button"]


class Source(StrEnum):
    """Where a pack's networks come from, if not from a folder or an archive."""

    HERE = "here"
    """They are on this machine already."""
    NETWORK = "network"
    LATER = "later"


FIRST = "first"
"""How the first camera is called that will be there."""


@dataclass(frozen=True, slots=True)
class CameraAnswer:
    """Which camera. `device` None is the first one; `replay` stands for a camera."""

    kind: Literal["v4l2", "picamera2", "replay"]
    device: str | None = None
    replay: Path | None = None

    def __str__(self) -> str:
        """As it is written on the command line."""
        match self.kind:
            case "replay":
                return f"replay:{self.replay}"
            case "picamera2":
                return "picamera2" if self.device is None else f"picamera2:{self.device}"
            case _:
                return self.device or FIRST


def camera_answer(text: str) -> CameraAnswer:
    """From "/dev/video0", "C920", "picamera2:imx708", "replay:FOLDER" or "first"."""
    kind, _, rest = text.partition(":")
    if kind == "replay" and rest:
        return CameraAnswer("replay", replay=Path(rest).absolute())
    if kind == "picamera2":
        return CameraAnswer("picamera2", rest or None)
    return CameraAnswer("v4l2", None if text == FIRST else text)


@dataclass(frozen=True, slots=True)
class ChipAnswer:
    """A GPIO chip by label or path; "file" is a folder that stands for one."""

    kind: ChipKind
    name: str

    def __str__(self) -> str:
        return f"file:{self.name}" if self.kind == "file" else self.name


def chip_answer(text: str) -> ChipAnswer:
    """From "pinctrl-rp1", "/dev/gpiochip0" or "file:FOLDER"."""
    kind, _, folder = text.partition(":")
    if kind == "file" and folder:
        return ChipAnswer("file", str(Path(folder).absolute()))
    return ChipAnswer("gpiochip", text)


@dataclass(frozen=True, slots=True)
class DoorAnswer:
    """One door. `members` is the group that may pass, None where that stays as it is; `weekly`
    is when, empty for always.
    """

    name: str
    chip: ChipAnswer
    relay_line: str
    relay_active_low: bool
    pulse_ms: int
    members: str | None
    weekly: tuple[str, ...]
    photographs_may_open: bool


@dataclass(frozen=True, slots=True)
class AttendanceAnswer:
    """What gives the direction; times for "schedule", chip and lines for "button"."""

    mode: Mode
    in_until: str | None = None
    out_from: str | None = None
    chip: ChipAnswer | None = None
    in_line: str | None = None
    out_line: str | None = None


@dataclass(frozen=True, slots=True)
class MqttAnswer:
    """A broker; `password` None leaves what there is."""

    host: str
    port: int | None
    tls: bool
    ca_file: Path | None
    username: str | None
    password: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class Answers:
    """Everything that was asked; `without` are parts that are taken away."""

    pack: str
    source: Source | Path = Source.HERE
    camera: CameraAnswer | None = None
    door: DoorAnswer | None = None
    attendance: AttendanceAnswer | None = None
    mqtt: MqttAnswer | None = None
    webhook: str | None = field(default=None, repr=False)
    lines: Path | None = None
    without: frozenset[Part] = frozenset()
    no_thermometer: bool = False
    """Whether this machine shows no temperature at all."""
    service: bool = False
    """Whether the daemon is made a service of the system."""
