"""Several frames decide, once per track; doubt, cool-down and leaving."""

from __future__ import annotations

import math
from random import Random

import pytest

from edgefaced.core.policy import (
    DecisionPolicy,
    Evidence,
    PolicyLimits,
    agreement,
    hopeless,
    overall_liveness,
)
from edgefaced.types import Candidate, Decision, Liveness, Match, Outcome

THRESHOLD = 0.5


def saw(
    person: str = "ann",
    score: float = 0.7,
    *,
    second: float = 0.1,
    faults: tuple[str, ...] = (),
    liveness: Liveness = Liveness.NOT_CHECKED,
) -> Evidence:
    return Evidence(Match(Candidate(person, score), Candidate("zoe", second)), faults, liveness)


def judge(
    policy: DecisionPolicy, frames: list[Evidence], *, track: int = 1, start: float = 0.0
) -> list[Decision | None]:
    return [
        policy.observe(track, frame, threshold=THRESHOLD, now=start + i / 10)
        for i, frame in enumerate(frames)
    ]


def test_three_frames_that_agree_decide_and_only_once() -> None:
    policy = DecisionPolicy()
    answers = judge(policy, [saw(), saw(score=0.6), saw(score=0.8), saw(), saw()])
    assert [a is None for a in answers] == [True, True, False, True, True]
    decision = answers[2]
    assert decision is not None
    assert (decision.outcome, decision.person_id) == (Outcome.KNOWN, "ann")
    assert decision.score == pytest.approx(0.7)
    assert not policy.wants(1, 0.5)


@pytest.mark.parametrize(
    "frames",
    [
        [saw(score=0.99)],
        [saw(score=0.99), saw(score=0.3), saw(score=0.3)],
        [saw(), saw(), saw("bob"), saw("bob")],
        [saw(second=0.69), saw(second=0.69), saw(second=0.69)],
        [saw(liveness=Liveness.FAILED), saw(liveness=Liveness.FAILED), saw(), saw()],
    ],
)
def test_doubt_is_never_known(frames: list[Evidence]) -> None:
    policy = DecisionPolicy()
    assert judge(policy, frames) == [None] * len(frames)
    assert policy.wants(1, 1.0)


@pytest.mark.parametrize(
    "frames",
    [
        [saw(score=math.nan), saw(score=math.nan), saw()],
        [saw(second=math.nan), saw(second=math.nan), saw(second=math.nan)],
        [Evidence(None, (), Liveness.NOT_CHECKED)] * 3,
        [saw(score=0.2), saw(score=0.2), saw(score=0.4)],
        [saw("ann", 0.4), saw("bob"), saw("eve"), saw("ann", 0.4)],
    ],
)
def test_what_can_come_to_no_agreement_any_more_is_unknown_at_once(frames: list[Evidence]) -> None:
    policy = DecisionPolicy()
    *before, decision = judge(policy, frames)
    assert before == [None] * len(before)
    assert decision is not None
    assert decision.outcome is Outcome.UNKNOWN


def test_whoever_is_given_up_would_not_have_been_known_whatever_had_come() -> None:
    limits, random = PolicyLimits(), Random(3)
    given_up = 0
    for _ in range(2000):
        window = [
            saw(
                random.choice(["ann", "bob"]),
                random.choice([0.1, 0.45, 0.55, 0.9, math.nan]),
                second=random.choice([0.0, 0.5, math.nan]),
                liveness=random.choice([Liveness.PASSED] * 3 + [Liveness.FAILED]),
            )
            for _ in range(limits.window_frames)
        ]
        early = next(n for n in range(6) if n == 5 or hopeless(window[:n], limits, THRESHOLD))
        given_up += early < 5
        if early < 5:
            assert agreement(window, limits, THRESHOLD) is None
            failed = sum(frame.liveness is Liveness.FAILED for frame in window)
            assert failed < limits.agreeing_frames, "a spoof is not given up"
    assert given_up > 200


def test_a_window_without_agreement_is_unknown() -> None:
    policy = DecisionPolicy()
    decision = judge(policy, [saw(score=0.2)] * 3)[-1]
    assert decision is not None
    assert (decision.outcome, decision.person_id) == (Outcome.UNKNOWN, None)
    assert decision.score == pytest.approx(0.2)
    high_and_low = [saw(score=score) for score in (0.55, 0.2, 0.6, 0.2, 0.2)]
    assert [a is None for a in judge(DecisionPolicy(), high_and_low)] == [True] * 4 + [False]
    nobody = judge(DecisionPolicy(), [Evidence(None, (), Liveness.NOT_CHECKED)] * 3)[-1]
    assert nobody is not None
    assert (nobody.score, nobody.reason) == (None, "nobody enrolled")


def test_poor_frames_do_not_count_and_patience_ends() -> None:
    policy = DecisionPolicy()
    poor = saw(faults=("blurred",))
    assert judge(policy, [poor] * 20) == [None] * 20
    decision = policy.observe(1, poor, threshold=THRESHOLD, now=2.5)
    assert decision is not None
    assert (decision.outcome, decision.reason) == (Outcome.TOO_POOR, "blurred")
    assert policy.wants(1, 2.5)
    assert judge(policy, [poor] * 50, start=2.6) == [None] * 50, "that is said once"
    better = judge(policy, [saw()] * 3, start=7.6)[-1]
    assert better is not None
    assert better.outcome is Outcome.KNOWN, "once the face is good, the person is known"


def test_enough_failed_liveness_is_a_spoof_whoever_it_looks_like() -> None:
    decision = judge(DecisionPolicy(), [saw(liveness=Liveness.FAILED)] * 3)[-1]
    assert decision is not None
    assert (decision.outcome, decision.person_id) == (Outcome.SPOOF, None)
    assert decision.liveness is Liveness.FAILED


def test_liveness_is_passed_only_if_every_frame_was_checked() -> None:
    passed, unchecked = saw(liveness=Liveness.PASSED), saw()
    assert overall_liveness([passed, passed]) is Liveness.PASSED
    assert overall_liveness([passed, unchecked]) is Liveness.NOT_CHECKED
    assert overall_liveness([passed, saw(liveness=Liveness.FAILED)]) is Liveness.FAILED


def test_a_recheck_confirms_silently_and_notices_somebody_else() -> None:
    policy = DecisionPolicy()
    judge(policy, [saw()] * 3)
    assert judge(policy, [saw()] * 3, start=6) == [None] * 3
    assert not policy.wants(1, 6.5), "confirmed, so it rests again"
    changed = judge(policy, [saw("bob")] * 3, start=12)[-1]
    assert changed is not None
    assert changed.person_id == "bob"


def test_somebody_who_could_not_be_served_is_announced_once_more_when_fresh_frames_agree() -> None:
    policy = DecisionPolicy()
    judge(policy, [saw()] * 3)
    policy.announce_again("ann")
    policy.announce_again("bob")
    assert judge(policy, [saw()] * 3, start=1.0) == [None] * 3, "not before the track is due"
    later = policy.limits.recheck_after + 1
    again = judge(policy, [saw()] * 3, start=later)
    assert [a is None for a in again] == [True, True, False]
    assert judge(policy, [saw()] * 3, start=2 * later) == [None] * 3, "and only once"
    policy.announce_again("ann")
    lost_and_found = judge(policy, [saw()] * 3, track=2, start=2 * later + 1)
    assert [a is None for a in lost_and_found] == [True, True, False], "in spite of the cool-down"


def test_a_lost_track_does_not_announce_the_same_person_again_within_the_cool_down() -> None:
    policy = DecisionPolicy()
    judge(policy, [saw()] * 3)
    first = policy.leave(1)
    assert first is not None
    assert first.person_id == "ann"
    assert judge(policy, [saw()] * 3, track=2, start=3) == [None] * 3
    again = judge(policy, [saw()] * 3, track=3, start=20)[-1]
    assert again is not None


def test_two_tracks_get_two_decisions() -> None:
    policy = DecisionPolicy()
    one = judge(policy, [saw("ann")] * 3, track=1)[-1]
    two = judge(policy, [saw("bob")] * 3, track=2)[-1]
    assert one is not None
    assert two is not None
    assert (one.person_id, two.person_id) == ("ann", "bob")


def test_leaving_before_a_decision_says_nothing() -> None:
    policy = DecisionPolicy()
    assert policy.leave(7) is None
    judge(policy, [saw()])
    assert policy.leave(1) is None


def test_one_frame_can_never_be_configured_to_decide() -> None:
    with pytest.raises(ValueError, match="one frame never decides"):
        PolicyLimits(agreeing_frames=1)
    with pytest.raises(ValueError, match="agreeing_frames = 6"):
        PolicyLimits(agreeing_frames=6)


def test_no_frame_is_no_agreement() -> None:
    assert agreement([], PolicyLimits(), THRESHOLD) is None


def test_a_track_is_settled_from_its_decision_to_its_next_look() -> None:
    policy = DecisionPolicy(PolicyLimits(recheck_after=5.0, retry_after=1.0))
    assert policy.settled_until(1) == -math.inf
    judge(policy, [saw()])
    assert policy.settled_until(1) == -math.inf
    judge(policy, [saw(), saw()], start=1.0)
    assert policy.settled_until(1) == pytest.approx(6.1)
    judge(policy, [saw(score=0.2)] * 3, track=2)
    assert policy.settled_until(2) == pytest.approx(1.2)


def test_patience_with_a_track_ends_with_its_decision() -> None:
    policy = DecisionPolicy(PolicyLimits(patience=2.0))
    assert policy.patient_until(1) == math.inf
    judge(policy, [saw()], start=1.0)
    assert policy.patient_until(1) == pytest.approx(3.0)
    judge(policy, [saw(), saw()], start=1.1)
    assert policy.patient_until(1) == math.inf
