"""The rules of doors: one way to a "yes", and every doubt a "no" with its reason."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgefaced.core.access import (
    Circumstances,
    DoorRule,
    Grant,
    GroupGrant,
    Moment,
    Reason,
    Rights,
    Rules,
    Verdict,
    judge,
)
from edgefaced.core.schedule import DAY_SECONDS, Schedule, Span
from edgefaced.types import Decision, Liveness, Outcome

NAN = float("nan")
MONDAY_NOON = 20787 * DAY_SECONDS + 12 * 3600  # 2026-11-30
TODAY = 20787
ANN = Decision(Outcome.KNOWN, "ann", 0.7, 0.4, Liveness.PASSED, "frames agree")
FRONT = DoorRule("front")
OFFICE = Schedule("office", tuple(Span(day, 7 * 3600, 11 * 3600) for day in range(5)))
RULES = Rules(schedules=(OFFICE,))
NOW = Moment(MONDAY_NOON, 0, synchronised=True)
QUIET = Circumstances(fresh=True, recorded=True, same_camera=True, lockdown=False)
ALWAYS = Rights((Grant("front"),))


def asked(
    decision: Decision = ANN,
    rights: Rights | None = ALWAYS,
    door: DoorRule = FRONT,
    rules: Rules = RULES,
    moment: Moment = NOW,
    circumstances: Circumstances = QUIET,
) -> Verdict:
    return judge(decision, rights, door, rules, moment, circumstances)


def test_somebody_known_alive_and_allowed_passes() -> None:
    assert asked() == Verdict(granted=True, reason=Reason.ALLOWED, duress=False)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"outcome": Outcome.UNKNOWN}, Reason.NOT_RECOGNISED),
        ({"outcome": Outcome.TOO_POOR}, Reason.NOT_RECOGNISED),
        ({"outcome": Outcome.SPOOF}, Reason.SPOOF),
        ({"liveness": Liveness.FAILED}, Reason.SPOOF),
        ({"liveness": Liveness.NOT_CHECKED}, Reason.LIVENESS),
        ({"liveness": None}, Reason.LIVENESS),
        ({"person_id": None}, Reason.NOT_RECOGNISED),
        ({"person_id": ""}, Reason.NOT_RECOGNISED),
        ({"score": None}, Reason.BELOW_THRESHOLD),
        ({"score": NAN}, Reason.BELOW_THRESHOLD),
        ({"score": 0.39}, Reason.BELOW_THRESHOLD),
        ({"score": float("inf")}, Reason.BELOW_THRESHOLD),
        ({"threshold": NAN}, Reason.BELOW_THRESHOLD),
    ],
)
def test_what_a_decision_may_lack(changes: dict[str, Any], reason: Reason) -> None:
    assert asked(replace(ANN, **changes)) == Verdict(granted=False, reason=reason)


def test_a_door_may_demand_more_or_less_than_the_decision() -> None:
    strict = replace(FRONT, minimum_score=0.8)
    assert asked(door=strict).reason is Reason.BELOW_DOOR_THRESHOLD
    assert asked(door=replace(FRONT, minimum_score=NAN)).reason is Reason.BELOW_DOOR_THRESHOLD
    assert asked(door=replace(FRONT, minimum_score=0.7)).granted
    unchecked = replace(ANN, liveness=Liveness.NOT_CHECKED)
    assert asked(unchecked, door=replace(FRONT, needs_liveness=False)).granted
    spoof = replace(ANN, liveness=Liveness.FAILED)
    assert not asked(spoof, door=replace(FRONT, needs_liveness=False)).granted


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"fresh": False}, Reason.TOO_LATE),
        ({"repeated": True}, Reason.REPEATED),
        ({"repeated": None}, Reason.REPEATED),
        ({"same_camera": False}, Reason.CAMERA),
        ({"lockdown": True}, Reason.LOCKDOWN),
        ({"lockdown": None}, Reason.LOCKDOWN),
        ({"recorded": False}, Reason.NOT_RECORDED),
        ({"recorded": None}, Reason.NOT_RECORDED),
        ({"passed_before": True}, Reason.ANTI_PASSBACK),
        ({"passed_before": None}, Reason.ANTI_PASSBACK),
    ],
)
def test_circumstances_that_keep_a_door_shut(changes: dict[str, Any], reason: Reason) -> None:
    circumstances = replace(QUIET, **changes)
    assert asked(circumstances=circumstances) == Verdict(granted=False, reason=reason)


def test_an_unrecorded_event_opens_only_where_the_door_says_so() -> None:
    unrecorded = replace(QUIET, recorded=False)
    generous = replace(FRONT, opens_unrecorded=True)
    assert asked(circumstances=unrecorded, door=generous).granted


@pytest.mark.parametrize(
    ("rights", "reason"),
    [
        (None, Reason.UNKNOWN_RIGHTS),
        (Rights(), Reason.NOT_ALLOWED),
        (Rights((Grant("back"),)), Reason.NOT_ALLOWED),
        (Rights((Grant("front", "night"),)), Reason.SCHEDULE),  # no such schedule
        (Rights((Grant("front", first_day=TODAY + 1),)), Reason.NOT_YET),
        (Rights((Grant("front", last_day=TODAY - 1),)), Reason.EXPIRED),
        (
            Rights((Grant("front", last_day=TODAY - 1), Grant("front", first_day=TODAY + 9))),
            Reason.NOT_YET,
        ),
    ],
)
def test_rights_that_do_not_suffice(rights: Rights | None, reason: Reason) -> None:
    assert asked(rights=rights).reason is reason
    assert not asked(rights=rights).granted


@pytest.mark.parametrize(
    "grant",
    [
        Grant("front", "office"),
        Grant("front", first_day=TODAY, last_day=TODAY),
        Grant("front", "office", TODAY - 1, TODAY + 1),
    ],
)
def test_grants_with_limits_that_hold_now(grant: Grant) -> None:
    assert asked(rights=Rights((grant,))).granted
    assert asked(rights=Rights((Grant("front", last_day=0), grant))).granted, "one is enough"


def test_outside_the_schedule_the_door_stays_shut() -> None:
    evening = replace(NOW, utc_seconds=MONDAY_NOON + 7 * 3600)
    rights = Rights((Grant("front", "office"),))
    assert asked(rights=rights, moment=evening).reason is Reason.SCHEDULE
    # The same moment is working time further west.
    assert asked(rights=rights, moment=replace(evening, utc_offset_seconds=-6 * 3600)).granted


@pytest.mark.parametrize(
    "moment",
    [
        replace(NOW, synchronised=False),
        replace(NOW, utc_seconds=NAN),
        replace(NOW, utc_offset_seconds=NAN),
        Moment(0, 0, synchronised=False),  # a board without a battery that has just booted
    ],
)
def test_what_depends_on_an_unsure_clock_is_refused(moment: Moment) -> None:
    for grant in (Grant("front", "office"), Grant("front", last_day=TODAY + 100)):
        assert asked(rights=Rights((grant,)), moment=moment).reason is Reason.CLOCK
    assert asked(moment=moment).granted, "what is always allowed asks no clock"


def test_an_installer_may_trust_any_clock_but_not_a_number_that_is_none() -> None:
    trusting = replace(RULES, trusts_any_clock=True)
    rights = Rights((Grant("front", "office"),))
    assert asked(rights=rights, rules=trusting, moment=replace(NOW, synchronised=False)).granted
    broken = replace(NOW, utc_seconds=NAN)
    assert asked(rights=rights, rules=trusting, moment=broken).reason is Reason.CLOCK


def test_a_lock_that_wants_a_number_opens_for_nobody_without_one() -> None:
    wiegand = replace(FRONT, needs_card=True)
    assert asked(door=wiegand) == Verdict(granted=False, reason=Reason.NO_CARD)
    assert asked(door=wiegand, rights=replace(ALWAYS, card=0)).granted


def test_members_of_a_group_have_its_grants() -> None:
    rules = replace(RULES, group_grants=(GroupGrant("staff", Grant("front", "office")),))
    assert asked(rights=Rights(groups=("staff",)), rules=rules).granted
    assert asked(rights=Rights(groups=("guests",)), rules=rules).reason is Reason.NOT_ALLOWED
    assert asked(rights=Rights(groups=("staff",)), rules=rules, door=DoorRule("back")).reason is (
        Reason.NOT_ALLOWED
    )


def test_duress_is_silent_and_travels_with_every_answer() -> None:
    rights = replace(ALWAYS, groups=("duress",))
    assert asked(rights=rights) == Verdict(granted=True, reason=Reason.ALLOWED, duress=True)
    refused = asked(rights=replace(rights, grants=()))
    assert refused == Verdict(granted=False, reason=Reason.NOT_ALLOWED, duress=True)


numbers = st.floats() | st.none()


@given(
    st.sampled_from(Outcome),
    st.sampled_from(["ann", "", None]),
    numbers,
    st.floats(),
    st.sampled_from(Liveness),
    st.tuples(*(st.sampled_from([True, False, None]) for _ in range(6))),
    st.tuples(st.floats(), st.floats(), st.booleans()),
)
def test_a_door_opens_only_when_everything_holds(
    outcome: Outcome,
    person: str | None,
    score: float | None,
    threshold: float,
    liveness: Liveness,
    flags: tuple[Any, ...],
    clock: tuple[float, float, bool],
) -> None:
    decision = Decision(outcome, person, score, threshold, liveness, "")
    verdict = asked(decision, circumstances=Circumstances(*flags), moment=Moment(*clock))
    if verdict.granted:
        assert (outcome, person, liveness) == (Outcome.KNOWN, "ann", Liveness.PASSED)
        assert score is not None
        assert score >= threshold
        assert flags == (True, True, True, False, False, False)
