"""Who was there against what was said: every way to be right and to be wrong."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgefaced.demo.bookkeeping import (
    Claim,
    Tally,
    Truth,
    Verdict,
    judge,
    overlap,
    recognised_people,
    tally,
)
from edgefaced.demo.results import scene_result
from edgefaced.demo.script import SCENES
from edgefaced.types import Box, Decision, Liveness, Outcome

WIDTH, HEIGHT = 640, 480
HERE, THERE = Box(100, 100, 200, 220), Box(400, 100, 500, 220)
ANNA = Truth("Anna", True, HERE)
BEN = Truth("Ben", True, THERE)
STRANGER = Truth("Stranger 1", False, HERE)


def claim(box: Box, name: str | None = None, outcome: Outcome = Outcome.UNKNOWN) -> Claim:
    said = Outcome.KNOWN if name else outcome
    decision = Decision(said, name, 0.5, 0.4, Liveness.NOT_CHECKED, "")
    return Claim(box, name, decision)


def verdicts(truths: list[Truth], claims: list[Claim]) -> list[Verdict]:
    return [s.verdict for s in judge(truths, claims, width=WIDTH, height=HEIGHT)]


@pytest.mark.parametrize(
    ("truth", "said", "verdict"),
    [
        (ANNA, claim(HERE, "Anna"), Verdict.RECOGNISED),
        (ANNA, claim(HERE), Verdict.NOT_RECOGNISED),
        (ANNA, claim(HERE, outcome=Outcome.TOO_POOR), Verdict.TOO_POOR),
        (ANNA, claim(HERE, "Ben"), Verdict.FALSE_ACCEPT),
        (STRANGER, claim(HERE), Verdict.REJECTED),
        (STRANGER, claim(HERE, outcome=Outcome.TOO_POOR), Verdict.TOO_POOR),
        (STRANGER, claim(HERE, "Anna"), Verdict.FALSE_ACCEPT),
        # Not even a stranger whose label happens to be somebody's name is that somebody.
        (STRANGER, claim(HERE, "Stranger 1"), Verdict.FALSE_ACCEPT),
    ],
)
def test_what_is_said_of_a_face(truth: Truth, said: Claim, verdict: Verdict) -> None:
    assert verdicts([truth], [said]) == [verdict]


def test_a_face_of_which_nothing_is_said_is_missed() -> None:
    assert verdicts([ANNA, BEN], [claim(THERE, "Ben")]) == [Verdict.MISSED, Verdict.RECOGNISED]


def test_a_face_that_is_mostly_outside_may_go_unnoticed() -> None:
    leaving = Truth("Anna", True, Box(-70, 100, 30, 220))
    assert verdicts([leaving], []) == []
    assert verdicts([leaving], [claim(leaving.box, "Anna")]) == [Verdict.RECOGNISED]


def test_a_name_where_nobody_is_is_a_false_accept() -> None:
    assert verdicts([], [claim(HERE, "Anna")]) == [Verdict.FALSE_ACCEPT]
    assert verdicts([], [claim(HERE)]) == [Verdict.NO_FACE]
    assert verdicts([BEN], [claim(HERE, "Ben")]) == [Verdict.FALSE_ACCEPT, Verdict.MISSED]


def test_each_claim_speaks_of_the_face_it_overlaps_most() -> None:
    beside = Truth("Ben", True, Box(150, 100, 250, 220))
    said = [claim(Box(152, 100, 252, 220), "Ben"), claim(Box(98, 100, 198, 220), "Anna")]
    assert verdicts([ANNA, beside], said) == [Verdict.RECOGNISED, Verdict.RECOGNISED]
    swapped = [claim(said[0].box, "Anna"), claim(said[1].box, "Ben")]
    assert verdicts([ANNA, beside], swapped) == [Verdict.FALSE_ACCEPT, Verdict.FALSE_ACCEPT]


def test_of_several_claims_on_a_face_the_wrong_name_counts_first() -> None:
    exact, loose = claim(HERE, "Anna"), claim(Box(120, 110, 215, 225), "Ben")
    assert verdicts([ANNA], [exact, loose]) == [Verdict.FALSE_ACCEPT]
    assert verdicts([ANNA], [exact, claim(loose.box)]) == [Verdict.RECOGNISED]
    assert verdicts([ANNA], [claim(HERE), claim(loose.box, "Anna")]) == [Verdict.NOT_RECOGNISED]


def test_a_tally_counts_faces_once_and_strays_apart() -> None:
    seen = judge(
        [ANNA, BEN], [claim(HERE, "Anna"), claim(Box(0, 0, 50, 50))], width=640, height=480
    )
    assert tally(seen) == Tally(2, 1, 0, 0, 0, 1, 0, 1)
    assert tally(seen) + tally(seen) == Tally(4, 2, 0, 0, 0, 2, 0, 2)
    assert recognised_people(seen) == {"Anna"}


def test_a_scene_passes_when_all_were_recognised_and_nobody_falsely() -> None:
    scene = next(scene for scene in SCENES if scene.name == "two at once")
    a, b = (Truth(name, True, box) for name, box in zip(scene.enrolled, (HERE, THERE), strict=True))

    first = judge([a, b], [claim(HERE, a.label)], width=WIDTH, height=HEIGHT)
    second = judge([a, b], [claim(THERE, b.label)], width=WIDTH, height=HEIGHT)
    wrong = judge([a, b], [claim(THERE, a.label)], width=WIDTH, height=HEIGHT)
    assert not scene_result(scene, [first]).passed
    assert scene_result(scene, [first]).never_recognised == (b.label,)
    whole = scene_result(scene, [first, second])
    assert whole.passed
    assert (whole.frames, whole.tally.faces, whole.tally.missed) == (2, 4, 2)
    assert not scene_result(scene, [first, second, wrong]).passed


sides = st.floats(1, 300)
places = st.floats(-300, 900)
boxes = st.builds(lambda x, y, w, h: Box(x, y, x + w, y + h), places, places, sides, sides)


@given(boxes, boxes)
def test_overlap_is_symmetric_and_between_zero_and_one(a: Box, b: Box) -> None:
    assert 0 <= overlap(a, b) <= 1 + 1e-9
    assert math.isclose(overlap(a, b), overlap(b, a))
    assert math.isclose(overlap(a, a), 1)


@given(
    st.lists(boxes, max_size=5), st.lists(st.tuples(boxes, st.sampled_from(["Anna", None]))), boxes
)
def test_no_name_is_ever_lost(
    others: list[Box], said: list[tuple[Box, str | None]], anna: Box
) -> None:
    """Where a name is given, it ends up recognised or as a false accept, unless it doubles one."""
    truths = [Truth("Anna", True, anna), *(Truth("Stranger", False, box) for box in others)]
    claims = [claim(box, name) for box, name in said]
    seen = judge(truths, claims, width=WIDTH, height=HEIGHT)
    named = {Verdict.RECOGNISED, Verdict.FALSE_ACCEPT}
    for sighting in seen:
        given_name = sighting.claim is not None and sighting.claim.name is not None
        assert given_name == (sighting.verdict in named)
    assert len([s for s in seen if s.truth]) <= len(truths)
    strays = [c for c in claims if all(overlap(t.box, c.box) < 0.3 for t in truths)]
    assert len([s for s in seen if s.truth is None]) == len(strays)
