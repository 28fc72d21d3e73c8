"""Doubt is never "known"."""

import math
from collections.abc import Sequence

import pytest

from edgefaced.core.decision import decide
from edgefaced.types import Candidate, Decision, Liveness, Match, Outcome

ANN = Candidate("ann", 0.7)


def judged(
    match: Match | None,
    *,
    faults: Sequence[str] = (),
    liveness: Liveness = Liveness.NOT_CHECKED,
    threshold: float = 0.5,
) -> Decision:
    return decide(
        match, threshold=threshold, minimum_margin=0.05, quality_faults=faults, liveness=liveness
    )


def test_a_clear_match_is_known() -> None:
    decision = judged(Match(ANN, Candidate("bob", 0.2)))
    assert decision == Decision(Outcome.KNOWN, "ann", 0.7, 0.5, Liveness.NOT_CHECKED, "match")


def test_the_only_person_has_an_infinite_margin() -> None:
    assert math.isinf(Match(ANN, None).margin)
    assert judged(Match(ANN, None)).outcome is Outcome.KNOWN


@pytest.mark.parametrize(
    ("match", "reason"),
    [
        (None, "nobody enrolled"),
        (Match(Candidate("ann", 0.49), None), "below threshold"),
        (Match(Candidate("ann", math.nan), None), "below threshold"),
        (Match(ANN, Candidate("bob", 0.66)), "margin"),
        (Match(ANN, Candidate("bob", math.nan)), "margin"),
    ],
)
def test_doubt_is_unknown(match: Match | None, reason: str) -> None:
    decision = judged(match)
    assert decision.outcome is Outcome.UNKNOWN
    assert decision.person_id is None
    assert decision.reason == reason


def test_a_threshold_that_is_not_a_number_lets_nobody_in() -> None:
    assert judged(Match(ANN, None), threshold=math.nan).outcome is Outcome.UNKNOWN


def test_gates_come_first() -> None:
    poor = judged(Match(ANN, None), faults=("blurred", "dark"), liveness=Liveness.FAILED)
    assert (poor.outcome, poor.reason) == (Outcome.TOO_POOR, "blurred, dark")
    spoof = judged(Match(ANN, None), liveness=Liveness.FAILED)
    assert (spoof.outcome, spoof.person_id) == (Outcome.SPOOF, None)
    assert judged(Match(ANN, None), liveness=Liveness.PASSED).outcome is Outcome.KNOWN
