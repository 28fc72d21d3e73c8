"""The doors of a configuration, checked as a whole: names lead somewhere, no line is shared."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from edgefaced.config.doors import DoorSection
from edgefaced.config.settings import Settings
from edgefaced.core.access import DoorRule, Rules
from edgefaced.core.passback import Route
from edgefaced.core.wiegand import WiegandFormat
from edgefaced.doors.wires import LockWires, WiegandWires, Wire
from edgefaced.errors import ConfigError
from edgefaced.gallery.names import lookup_form
from edgefaced.gpio.choose import ChipKind
from edgefaced.gpio.lines import Bias


@dataclass(frozen=True, slots=True)
class InputWire:
    """One input line."""

    kind: ChipKind
    chip: str
    line: str
    active_low: bool
    bias: Bias
    debounce_seconds: float


@dataclass(frozen=True, slots=True)
class WiegandCode:
    """How a lock's controller wants its numbers."""

    bits: WiegandFormat
    facility: int


@dataclass(frozen=True, slots=True)
class DoorPlan:
    """One door; `route` is for anti-passback."""

    rule: DoorRule
    camera: str | None
    wires: LockWires
    pulse_ms: int
    wiegand: WiegandCode | None
    button: InputWire | None
    contact: InputWire | None
    held_open_seconds: float
    route: Route | None

    @property
    def name(self) -> str:
        return self.rule.name


@dataclass(frozen=True, slots=True)
class DoorPlans:
    """All doors of a daemon and what holds for all of them.

    `camera` is what the configuration calls its camera.
    """

    doors: tuple[DoorPlan, ...]
    camera: str
    rules: Rules
    maximum_age_seconds: float
    stranger_faces: int
    stranger_seconds: float


def plans_of(settings: Settings) -> DoorPlans:
    """Raises ConfigError for a schedule or door that is named and not there, or a shared line."""
    for name, group in settings.groups.items():
        for door in group.doors:
            if door not in settings.doors:
                raise _no_such("door", f"groups.{name}.doors", door, settings.doors)
        if group.schedule is not None and group.schedule not in settings.schedules:
            key = f"groups.{name}.schedule"
            raise _no_such("schedule", key, group.schedule, settings.schedules)
    _refuse_equal_groups(settings)
    _refuse_shared_lines(settings)
    access = settings.access
    return DoorPlans(
        tuple(_plan(name, door) for name, door in settings.doors.items()),
        settings.camera.name,
        Rules(
            schedules=tuple(s.schedule(name) for name, s in settings.schedules.items()),
            holidays=access.holiday_numbers(),
            group_grants=tuple(
                grant
                for name, group in settings.groups.items()
                for grant in group.grants(lookup_form(name))
            ),
            trusts_any_clock=access.unsynchronised_clock == "trust",
        ),
        access.maximum_age_seconds,
        access.stranger_faces,
        access.stranger_seconds,
    )


def cautions(settings: Settings) -> list[str]:
    """What an installer must know of these doors, a line each."""
    found = []
    for name, door in settings.doors.items():
        if door.liveness == "required":
            found.append(
                f'doors.{name} opens for no face: liveness = "required", and this version has no '
                "liveness check"
            )
        else:
            found.append(
                f'doors.{name}: liveness = "not required": a photograph of somebody may open it'
            )
        own = settings.camera.name
        if door.camera not in (None, own):
            found.append(
                f"doors.{name} opens for no face: its camera is {door.camera!r}, and the one of "
                f"this daemon is {own!r} (camera.device)"
            )
        if settings.camera.kind == "replay":
            found.append(f'doors.{name}: camera.kind = "replay": recorded pictures open it')
        if door.relay_line is None and door.wiegand_zero_line is None:
            found.append(f"doors.{name} has no lock: what is decided is only announced")
    return found


def locks_of(settings: Settings) -> tuple[LockWires, ...]:
    """Every output line of the configuration."""
    return tuple(_wires(name, door) for name, door in settings.doors.items())


def _plan(name: str, door: DoorSection) -> DoorPlan:
    def listening(line: str | None, *, active_low: bool) -> InputWire | None:
        if line is None or door.chip is None:
            return None
        bias, debounce = Bias(door.input_bias), door.debounce_ms / 1000
        return InputWire(door.chip_kind, door.chip, line, active_low, bias, debounce)

    wires = _wires(name, door)
    code = WiegandCode(WiegandFormat(door.wiegand_bits), door.wiegand_facility)
    return DoorPlan(
        rule=door.rule(name),
        camera=door.camera,
        wires=wires,
        pulse_ms=door.pulse_ms,
        wiegand=None if wires.wiegand is None else code,
        button=listening(door.button_line, active_low=door.button_active_low),
        contact=listening(door.contact_line, active_low=door.contact_active_low),
        held_open_seconds=door.held_open_seconds,
        route=None
        if door.area is None
        else Route(door.area, door.direction, door.area_reset_seconds),
    )


def _wires(name: str, door: DoorSection) -> LockWires:
    relay = wiegand = None
    if door.chip is not None and door.relay_line is not None:
        relay = Wire(door.chip_kind, door.chip, door.relay_line, door.relay_active_low)
    zero, one = door.wiegand_zero_line, door.wiegand_one_line
    if door.chip is not None and zero is not None and one is not None:
        low = door.wiegand_active_low
        wiegand = WiegandWires(
            Wire(door.chip_kind, door.chip, zero, low),
            Wire(door.chip_kind, door.chip, one, low),
            door.wiegand_pulse_us,
            door.wiegand_gap_us,
        )
    return LockWires(name, relay, wiegand)


def _refuse_equal_groups(settings: Settings) -> None:
    """Who is a member of the one would be a member of the other, and of both or of none to see."""
    names: dict[str, str] = {}
    for name in settings.groups:
        other = names.setdefault(lookup_form(name), name)
        if other != name:
            raise ConfigError(
                f"groups.{name}: it is the same group as groups.{other}",
                "capitals and blanks make no difference; one table holds all its doors",
            )


def _refuse_shared_lines(settings: Settings) -> None:
    lines = Counter[tuple[str, str]]()
    for name, door in settings.doors.items():
        wires = (
            door.relay_line,
            door.wiegand_zero_line,
            door.wiegand_one_line,
            door.button_line,
            door.contact_line,
        )
        for line in wires:
            if line is None or door.chip is None:
                continue
            lines[door.chip, line] += 1
            if lines[door.chip, line] > 1:
                raise ConfigError(
                    f"doors.{name}: line {line!r} of {door.chip} is another door's as well",
                    "every line belongs to one door",
                )


def _no_such(what: str, key: str, name: str, known: dict[str, object] | object) -> ConfigError:
    names = ", ".join(known) if isinstance(known, dict) and known else "none"
    return ConfigError(f"{key}: no {what} {name!r}", f"there are: {names}")
