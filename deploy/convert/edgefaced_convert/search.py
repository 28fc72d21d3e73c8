"""Looking for the cheapest quantisation that holds the bars: int8 first, then less of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from edgefaced_convert.layer_errors import LayerError, first_bad, worst_first
from edgefaced_convert.road import FP16, Built, Plan, Precision, Road
from edgefaced_convert.toolchain import ConvertError

MORE_IN_FLOAT = (4, 16, 32)
"""Sensitive layers kept in floating point, step by step."""

WAY_OUT: dict[Precision, str] = {
    "int8": "mixed precision (--precision mixed) or QAT",
    "mixed": "QAT, or fp16",
    "fp16": "the network itself does not fit",
}

Figures = TypeVar("Figures")


@dataclass(frozen=True, slots=True)
class Attempt(Generic[Figures]):
    """One plan, what was measured of it, why it was not enough, and the first bad layer."""

    plan: Plan
    figures: Figures
    fault: str
    bad: LayerError | None


@dataclass(frozen=True, slots=True, eq=False)
class Found(Generic[Figures]):
    """The plan that holds, built, and the attempts up to it."""

    built: Built
    plan: Plan
    figures: Figures
    attempts: tuple[Attempt[Figures], ...]


@contextmanager
def search(
    road: Road,
    precision: Precision,
    judge: Callable[[Built], tuple[Figures, str]],
    say: Callable[[str], None],
) -> Iterator[Found[Figures]]:
    """Tries plans until `judge` finds no fault; the network can be run while the block runs.

    Raises ConvertError, with the last fault, where no plan of this precision holds.
    """
    attempts: list[Attempt[Figures]] = []
    errors: list[LayerError] = []  # of all in int8, there before anything is taken out of it
    for plan in _plans(road, precision, errors):
        with road.built(plan) as built:
            figures, fault = judge(built)
            if not fault:
                attempts.append(Attempt(plan, figures, "", None))
                yield Found(built, plan, figures, tuple(attempts))
                return
            found = built.layer_errors()
            if not plan.in_float:
                errors[:] = found
            bad = first_bad(found)
            attempts.append(Attempt(plan, figures, fault, bad))
            where = f"; first bad layer {bad.kind} {bad.name} ({bad.cosine:.3f})" if bad else ""
            say(f"{plan}: {fault}{where}")
    last = attempts[-1]
    bad = next((a.bad for a in attempts if a.bad), None)
    where = f"the first bad layer is {bad.kind} {bad.name}; " if bad else ""
    raise ConvertError(
        f"refused after {len(attempts)} attempts: {last.fault}", where + WAY_OUT[precision]
    )


def _plans(road: Road, precision: Precision, errors: list[LayerError]) -> Iterator[Plan]:
    if precision == "fp16":
        yield FP16
        return
    if precision == "int8":  # other ranges are all there is to try
        yield from (Plan(algorithm) for algorithm in road.algorithms)
        return
    usual, heads, (first, last) = road.base, road.heads, road.ends
    yield from (Plan(way) for way in dict.fromkeys((road.algorithms[0], usual)))
    kept = heads or (*first, *last)
    if heads:
        also = "score heads"
    else:
        also = f"the first and last {len(last)} filters"
        yield Plan(usual, last, f"the last {len(last)} filters in floating point")
    yield Plan(usual, kept, f"{also} in floating point")
    names = [error.name for error in worst_first(errors)]
    for count in MORE_IN_FLOAT:
        if count > len(names):
            return
        more = tuple(dict.fromkeys((*kept, *names[:count])))
        yield Plan(usual, more, f"{also} and the {count} worst layers in floating point")
