"""A bar over long work, on stderr and only where that is a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from edgefaced.cli.output import stderr

Item = TypeVar("Item")

WORTH_A_BAR = 4
"""Fewer items are done before a person looks."""


def with_bar(items: Sequence[Item], what: str) -> Iterable[Item]:
    """The items, with a bar of how many are done; for work that says nothing else meanwhile."""
    if not stderr.is_terminal or len(items) < WORTH_A_BAR:
        return items
    return _bar(items, what)


def _bar(items: Sequence[Item], what: str) -> Iterator[Item]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn())
    # Not redirected: what is printed meanwhile stays on stdout, also when that is a pipe.
    with Progress(*columns, console=stderr, transient=True, redirect_stdout=False) as bar:
        yield from bar.track(items)
