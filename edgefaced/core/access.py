"""Who may open which door, and when: a pure function. Doubt, NaN and the unknown are a "no"."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from enum import StrEnum

from edgefaced.core.schedule import LocalTime, Schedule, local_time
from edgefaced.types import Decision, Liveness, Outcome

DURESS_GROUP = "duress"
"""Whose members raise a silent alarm with every decision of a door."""
EVERYBODY_GROUP = "everybody"
"""That everybody enrolled is a member of."""


class Reason(StrEnum):
    """Why a door was opened for somebody, or was not."""

    ALLOWED = "allowed"
    NOT_RECOGNISED = "not recognised"
    SPOOF = "spoof"
    BELOW_THRESHOLD = "below threshold"
    BELOW_DOOR_THRESHOLD = "below door threshold"
    LIVENESS = "liveness"
    CAMERA = "camera changed"
    TOO_LATE = "too late"
    REPEATED = "already decided"
    LOCKDOWN = "lockdown"
    NOT_RECORDED = "not recorded"
    UNKNOWN_RIGHTS = "rights cannot be read"
    NOT_ALLOWED = "not allowed"
    CLOCK = "clock"
    SCHEDULE = "schedule"
    NOT_YET = "not yet valid"
    EXPIRED = "expired"
    ANTI_PASSBACK = "anti-passback"
    NO_CARD = "no card number"
    LOCK = "lock does not answer"


@dataclass(frozen=True, slots=True)
class Grant:
    """A door that somebody may open: always, or by a schedule, from a day to a day, both included.

    Days are counted from 1970-01-01, local time.
    """

    door: str
    schedule: str | None = None
    first_day: int | None = None
    last_day: int | None = None


@dataclass(frozen=True, slots=True)
class GroupGrant:
    """The same for all members of a group."""

    group: str
    grant: Grant


@dataclass(frozen=True, slots=True)
class Rights:
    """What one person may do; `card` is their number for a lock that is told by Wiegand."""

    grants: tuple[Grant, ...] = ()
    groups: tuple[str, ...] = ()
    card: int | None = None


@dataclass(frozen=True, slots=True)
class DoorRule:
    """What a door demands besides somebody's right to pass.

    `minimum_score` is asked on top of the threshold that the decision was held against.
    """

    name: str
    needs_liveness: bool = True
    minimum_score: float | None = None
    opens_unrecorded: bool = False
    needs_card: bool = False


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds for all doors; `holidays` are days since 1970-01-01."""

    schedules: tuple[Schedule, ...] = ()
    holidays: Set[int] = frozenset()
    group_grants: tuple[GroupGrant, ...] = ()
    trusts_any_clock: bool = False
    """Whether schedules are judged by a clock that is not synchronised."""


@dataclass(frozen=True, slots=True)
class Moment:
    """The wall clock when the decision was made."""

    utc_seconds: float
    utc_offset_seconds: float
    synchronised: bool


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What else is known when a door is asked."""

    fresh: bool
    """The decision was made in this boot, and just now."""
    recorded: bool
    same_camera: bool
    lockdown: bool
    repeated: bool = False
    """The same event has been here before."""
    passed_before: bool = False
    """Anti-passback: the person went this way already and has not come back."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """`duress` is a silent alarm, whatever the answer."""

    granted: bool
    reason: Reason
    duress: bool = False


def judge(
    decision: Decision,
    rights: Rights | None,
    door: DoorRule,
    rules: Rules,
    moment: Moment,
    circumstances: Circumstances,
) -> Verdict:
    """Whether this door opens for this decision. `rights` is None where they cannot be read."""
    duress = rights is not None and DURESS_GROUP in rights.groups
    refusal = (
        recognition_fault(decision, door)
        or _circumstance(door, circumstances)
        or rights_fault(rights, door.name, rules, moment)
        or (Reason.ANTI_PASSBACK if circumstances.passed_before is not False else None)
        or _card_fault(rights, door)
    )
    return Verdict(refusal is None, refusal or Reason.ALLOWED, duress)


def recognition_fault(decision: Decision, door: DoorRule) -> Reason | None:
    """What the decision itself lacks for this door. Written so that NaN never passes."""
    if decision.outcome is Outcome.SPOOF or decision.liveness is Liveness.FAILED:
        return Reason.SPOOF
    if decision.outcome is not Outcome.KNOWN or not decision.person_id:
        return Reason.NOT_RECOGNISED
    if decision.score is None or not 1.001 >= decision.score >= decision.threshold:
        return Reason.BELOW_THRESHOLD
    if door.minimum_score is not None and not decision.score >= door.minimum_score:
        return Reason.BELOW_DOOR_THRESHOLD
    if door.needs_liveness is not False and decision.liveness is not Liveness.PASSED:
        return Reason.LIVENESS
    return None


def _circumstance(door: DoorRule, circumstances: Circumstances) -> Reason | None:
    if circumstances.fresh is not True:
        return Reason.TOO_LATE
    if circumstances.repeated is not False:
        return Reason.REPEATED
    if circumstances.lockdown is not False:
        return Reason.LOCKDOWN
    if circumstances.same_camera is not True:
        return Reason.CAMERA
    if circumstances.recorded is not True and door.opens_unrecorded is not True:
        return Reason.NOT_RECORDED
    return None


def _card_fault(rights: Rights | None, door: DoorRule) -> Reason | None:
    lacks = door.needs_card is not False and (rights is None or rights.card is None)
    return Reason.NO_CARD if lacks else None


def rights_fault(rights: Rights | None, door: str, rules: Rules, moment: Moment) -> Reason | None:
    """Why nobody with these rights passes this door now; None where one grant lets them."""
    if rights is None:
        return Reason.UNKNOWN_RIGHTS
    grants = [g for g in rights.grants if g.door == door]
    grants += [
        g.grant for g in rules.group_grants if g.group in rights.groups and g.grant.door == door
    ]
    when = local_time(moment.utc_seconds, moment.utc_offset_seconds)
    sure = moment.synchronised is True or rules.trusts_any_clock is True
    faults = [_grant_fault(grant, rules, when if sure else None) for grant in grants]
    if None in faults:
        return None
    # Of several reasons the one that is nearest to a "yes".
    order = (Reason.CLOCK, Reason.SCHEDULE, Reason.NOT_YET, Reason.EXPIRED)
    return next((reason for reason in order if reason in faults), Reason.NOT_ALLOWED)


def _grant_fault(grant: Grant, rules: Rules, when: LocalTime | None) -> Reason | None:
    """`when` is None where the clock is not known; a grant for always does not ask it."""
    if grant.schedule is None and grant.first_day is None and grant.last_day is None:
        return None
    if when is None:
        return Reason.CLOCK
    if grant.first_day is not None and not when.day >= grant.first_day:
        return Reason.NOT_YET
    if grant.last_day is not None and not when.day <= grant.last_day:
        return Reason.EXPIRED
    if grant.schedule is None:
        return None
    covered = any(
        schedule.name == grant.schedule and schedule.covers(when, rules.holidays)
        for schedule in rules.schedules
    )
    return None if covered else Reason.SCHEDULE
