"""Choosing pictures so that rare conditions are not drowned by common ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence


def balanced(conditions: Sequence[tuple[Hashable, ...]], count: int) -> list[int]:
    """Places of `count` items, one at a time the one whose conditions are rarest so far.

    Conditions weigh in their order: the first (light) decides, the next break its ties. Items of
    equal standing are taken in order. All places where there are no more than `count`.
    """
    waiting: dict[tuple[Hashable, ...], list[int]] = {}
    for place, condition in enumerate(conditions):
        waiting.setdefault(condition, []).append(place)
    for places in waiting.values():
        places.reverse()
    chosen: list[int] = []
    had = Counter[tuple[int, Hashable]]()
    while waiting and len(chosen) < count:
        rarest = min(waiting, key=lambda c: [had[axis, value] for axis, value in enumerate(c)])
        chosen.append(waiting[rarest].pop())
        had.update(enumerate(rarest))
        if not waiting[rarest]:
            del waiting[rarest]
    return chosen
