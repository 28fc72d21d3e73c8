"""How long work tells a person what it is doing."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called from the thread that does the work."""

    def say(self, line: str) -> None:
        """One line worth reading."""
        ...

    def advance(self, what: str, done: int, total: int | None) -> None:
        """`done` of `total` bytes of `what` are here; `total` None where nobody knows."""
        ...


class Silent:
    """Says nothing."""

    def say(self, line: str) -> None:
        return None

    def advance(self, what: str, done: int, total: int | None) -> None:
        return None
