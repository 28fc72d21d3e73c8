"""Progress of downloads and preparation on stderr: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from edgefaced.cli.output import note, plain, stderr
from edgefaced.models.progress import Progress as Told


@contextmanager
def transfers() -> Iterator[Told]:
    """How a pull speaks while it works."""
    if not stderr.is_terminal:
        yield Lines()
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=stderr, transient=True) as bars:
        yield Bars(bars)


class Bars:
    """One bar a file."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}

    def say(self, line: str) -> None:
        self._bars.console.print(plain(line))

    def advance(self, what: str, done: int, total: int | None) -> None:
        if what not in self._tasks:
            name = plain(what).plain.replace("[", r"\[")
            self._tasks[what] = self._bars.add_task(name, total=total)
        self._bars.update(self._tasks[what], completed=done, total=total)


class Lines:
    """A line when a file begins and one when it is here."""

    def __init__(self) -> None:
        self._begun: set[str] = set()

    def say(self, line: str) -> None:
        note(line)

    def advance(self, what: str, done: int, total: int | None) -> None:
        size = "" if total is None else f" ({megabytes(total)})"
        if what not in self._begun:
            self._begun.add(what)
            note(f"downloading {what}{size}")
        if done == total:
            note(f"downloaded {what}")


def megabytes(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:.1f} MB"
