"""Which pictures are kept: duplicates, other people, majorities, and the most different ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgefaced.core.enrolment import (
    DUPLICATE_COSINE,
    Choice,
    choose,
    lowest_without_itself,
    medoid,
    spread,
)
from edgefaced.types import F32, F64

SAME = 0.4
NOBODY: F32 = np.empty((0, 64), np.float32)


def unit(rows: Any) -> F32:
    array: F64 = np.asarray(rows, dtype=np.float64)
    return np.asarray(array / np.linalg.norm(array, axis=1, keepdims=True), np.float32)


def person(number: int, count: int, *, spread_of: float = 0.9) -> F32:
    """`count` pictures of one person: cosines among them about 1 / (1 + spread_of²)."""
    rng = np.random.default_rng(number)
    centre = rng.normal(size=64)
    centre /= np.linalg.norm(centre)
    noise = rng.normal(size=(count, 64)) / 8
    return unit(centre + spread_of * noise)


def choices(vectors: F32, enrolled: F32 = NOBODY, most: int = 20) -> list[Choice]:
    return [c.choice for c in choose(vectors, enrolled, same_person=SAME, most=most)]


def test_one_picture_is_kept_and_compared_with_nothing() -> None:
    (only,) = choose(person(1, 1), NOBODY, same_person=SAME)
    assert only.choice is Choice.KEPT
    assert only.score is None


def test_no_picture_gives_no_choice() -> None:
    assert choose(NOBODY, NOBODY, same_person=SAME) == []


def test_pictures_of_one_person_are_all_kept() -> None:
    assert choices(person(1, 8, spread_of=0.6)) == [Choice.KEPT] * 8


@pytest.mark.parametrize("place", [0, 2, 4])
def test_another_person_among_them_is_left_out(place: int) -> None:
    vectors = np.insert(person(1, 4, spread_of=0.5), place, person(2, 1)[0], axis=0)
    result = choose(vectors, NOBODY, same_person=SAME)
    assert [c.choice is Choice.KEPT for c in result] == [i != place for i in range(5)]
    odd = result[place]
    assert odd.choice is Choice.ANOTHER_PERSON
    assert odd.score is not None
    assert odd.score < SAME


@pytest.mark.parametrize(("own", "other"), [(1, 1), (2, 2), (2, 3)])
def test_without_a_majority_nobody_is_enrolled(own: int, other: int) -> None:
    strangers = np.vstack([person(10 + i, 1) for i in range(other)])
    vectors = np.vstack([person(1, own, spread_of=0.4), strangers])
    assert choices(vectors) == [Choice.NO_MAJORITY] * (own + other)


def test_who_is_enrolled_decides_and_not_the_majority() -> None:
    mine, others = person(1, 5, spread_of=0.5), person(2, 6, spread_of=0.4)
    vectors = np.vstack([mine[:1], others])
    assert choices(vectors, enrolled=mine[1:]) == [Choice.KEPT] + [Choice.ANOTHER_PERSON] * 6


def test_a_copy_is_a_duplicate_of_the_first() -> None:
    vectors = person(1, 3, spread_of=0.5)
    copied = np.vstack([vectors, vectors[1:2], unit(vectors[:1] + 1e-4)])
    result = choose(copied, NOBODY, same_person=SAME)
    assert [c.choice for c in result] == [Choice.KEPT] * 3 + [Choice.DUPLICATE] * 2
    assert [c.repeats for c in result[3:]] == [1, 0]
    assert all(c.score is not None and c.score > DUPLICATE_COSINE for c in result[3:])


def test_copies_do_not_make_a_majority() -> None:
    mine, other = person(1, 1), person(2, 1)
    assert choices(np.vstack([mine, mine, mine, other])) == [
        Choice.NO_MAJORITY,
        Choice.DUPLICATE,
        Choice.DUPLICATE,
        Choice.NO_MAJORITY,
    ]


def test_a_copy_of_an_enrolled_template_is_a_duplicate() -> None:
    mine = person(1, 4, spread_of=0.5)
    result = choose(mine[:2], mine[1:], same_person=SAME)
    assert [c.choice for c in result] == [Choice.KEPT, Choice.DUPLICATE]
    assert result[1].repeats is None


def test_the_most_different_are_kept_where_there_is_no_room_for_all() -> None:
    # Three clusters; with room for three, one of each is worth most.
    corners = np.eye(3)[[0, 0, 0, 1, 1, 2]] + 2.0
    vectors = unit(np.hstack([corners, 0.3 * np.eye(6, 61)]))
    kept = spread(vectors, NOBODY, 3)
    assert sorted(np.eye(3)[[0, 0, 0, 1, 1, 2]][kept].argmax(axis=1)) == [0, 1, 2]
    result = choices(vectors, most=3)
    assert result.count(Choice.KEPT) == 3
    assert result.count(Choice.NOT_NEEDED) == 3


@pytest.mark.parametrize(("enrolled", "kept"), [(18, 2), (20, 0), (25, 0), (3, 5)])
def test_what_is_enrolled_takes_room(enrolled: int, kept: int) -> None:
    mine = person(1, enrolled + 5, spread_of=0.5)
    result = choices(mine[enrolled:], enrolled=mine[:enrolled])
    assert result.count(Choice.KEPT) == kept
    assert result.count(Choice.NOT_NEEDED) == 5 - kept


def test_with_people_enrolled_the_farthest_from_them_come_first() -> None:
    mine = person(1, 12, spread_of=0.6)
    enrolled, new = mine[:4], mine[4:]
    (first,) = spread(new, enrolled, 5)
    assert first == int((new @ enrolled.T).max(axis=1).argmin())


def test_the_medoid_agrees_with_most() -> None:
    vectors = np.vstack([person(2, 2, spread_of=0.1), person(1, 3, spread_of=0.7)])
    assert medoid(vectors, SAME) in {2, 3, 4}


def test_lowest_without_itself_is_the_worst_best_score_of_the_others() -> None:
    assert lowest_without_itself(person(1, 1)) is None
    a, b, c = np.eye(3), np.array([[3.0, 4.0, 0.0]]), np.array([[0.0, 0.0, 1.0]])
    vectors = unit(np.vstack([a[:1], b, c, a[1:2]]))
    # Against the others: 0.6, 0.8, 0.0, 0.8.
    assert lowest_without_itself(vectors) == pytest.approx(0.0)
    assert lowest_without_itself(vectors[[0, 1, 3]]) == pytest.approx(0.6)


@given(st.integers(1, 12), st.integers(0, 5), st.integers(0, 6), st.integers(0, 99))
def test_every_picture_gets_one_choice_and_the_limit_holds(
    count: int, enrolled: int, most: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    pool = np.vstack([person(seed, 8, spread_of=0.7), person(seed + 1, 4)])
    vectors = pool[rng.integers(0, 12, count)]
    own = person(seed, 8 + enrolled, spread_of=0.7)[8:]
    result = choose(vectors, own, same_person=SAME, most=most)
    assert len(result) == count
    kept = [i for i, c in enumerate(result) if c.choice is Choice.KEPT]
    assert len(kept) <= max(most - enrolled, 0)
    cosines = vectors[kept] @ vectors[kept].T - np.eye(len(kept))
    assert not (cosines > DUPLICATE_COSINE + 1e-6).any()
    assert result == choose(vectors, own, same_person=SAME, most=most)
