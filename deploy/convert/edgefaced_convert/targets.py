"""One network for several targets: searched and proved once, again only where one differs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Generic

import numpy as np

from edgefaced.types import U8
from edgefaced_convert.golden import Answers, answers_of
from edgefaced_convert.layer_errors import LayerError
from edgefaced_convert.road import Built, Precision, Road
from edgefaced_convert.search import Figures, Found, search
from edgefaced_convert.toolchain import ConvertError

SAME_EVERYWHERE = 0.014
"""Distance between two targets' simulations, over the length of the answer, up to which one of
them is proved for both: of embeddings a cosine of 0.9999."""


@dataclass(frozen=True, slots=True, eq=False)
class Reached(Generic[Figures]):
    """What holds the bars on one target; its back end is closed, `answers` are to the golden
    picture, `errors` of its layers."""

    target: str
    found: Found[Figures]
    answers: Answers
    errors: tuple[LayerError, ...]
    seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class Course(Generic[Figures]):
    """What is the same for every target."""

    road_to: Callable[[str], AbstractContextManager[Road]]
    precision: Precision
    judge: Callable[[Built], tuple[Figures, str]]
    golden: U8
    say: Callable[[str], None]


def reach(
    course: Course[Figures], targets: Sequence[str]
) -> Iterator[Reached[Figures] | ConvertError]:
    """For each target in turn what holds there, or why nothing does: the others go on."""
    reached: list[Reached[Figures]] = []
    for target in targets:
        started = time.monotonic()
        try:
            with course.road_to(target) as road:
                here = _as_before(course, road, target, reached) if reached else None
                here = here or _searched(course, road, target)
        except ConvertError as error:
            yield error
            continue
        reached.append(replace(here, seconds=time.monotonic() - started))
        yield reached[-1]


def _searched(course: Course[Figures], road: Road, target: str) -> Reached[Figures]:
    with search(road, course.precision, course.judge, course.say) as found:
        return _reached(target, found, answers_of(found.built.backend, course.golden))


def _as_before(
    course: Course[Figures], road: Road, target: str, reached: Sequence[Reached[Figures]]
) -> Reached[Figures] | None:
    """By the plan that was proved for the first target; None where it does not hold here."""
    plan = reached[0].found.plan
    with road.built(plan) as built:
        answers = answers_of(built.backend, course.golden)
        same_plan = [one for one in reached if one.found.plan == plan]
        twin = next((one for one in same_plan if alike(one.answers, answers)), None)
        if twin is not None:
            return _reached(target, replace(twin.found, built=built), answers)
        before = ", ".join(one.target for one in same_plan)
        course.say(f"{target} computes otherwise than {before}: proved by itself")
        figures, fault = course.judge(built)
        if fault:
            course.say(f"{plan}: {fault}; other plans are tried")
            return None
        return _reached(target, replace(reached[0].found, built=built, figures=figures), answers)


def _reached(target: str, found: Found[Figures], answers: Answers) -> Reached[Figures]:
    return Reached(target, found, answers, tuple(found.built.layer_errors()), 0.0)


def alike(before: Answers, after: Answers) -> bool:
    """Whether every output is the same but for rounding: what was proved of one holds for both."""
    for name, answer in before.items():
        x, y = answer.ravel().astype(np.float64), after[name].ravel().astype(np.float64)
        if not np.linalg.norm(x - y) <= SAME_EVERYWHERE * np.linalg.norm(x):
            return False
    return True
