"""The seam between questions and whoever answers them: somebody at a terminal, or nobody."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from edgefaced.errors import UsageError

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, why, and the option of the command line that answers it."""

    text: str
    why: str
    option: str


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several answers: what it is called, and in words."""

    name: str
    words: str


class Asker(Protocol):
    """Somebody who is asked."""

    @property
    def present(self) -> bool:
        """Whether there is anybody; without, what stands already is not asked again."""
        ...

    def say(self, line: str) -> None:
        """A line that needs no answer."""
        ...

    def choose(
        self,
        question: Question,
        choices: Sequence[Choice],
        default: str | None,
        *,
        closed: bool = False,
    ) -> str:
        """The name of a choice, or, unless that is `closed`, what was typed instead of one."""
        ...

    def text(
        self, question: Question, default: str | None, read: Callable[[str], Answer]
    ) -> Answer:
        """What `read` makes of the answer; where that raises ValueError it is asked again."""
        ...

    def agree(self, question: Question, *, default: bool) -> bool: ...

    def secret(self, question: Question) -> str | None:
        """Not shown while it is typed; None where nothing was."""
        ...


class Nobody:
    """Takes every default; where there is none the option is named."""

    present = False

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.say = tell

    def choose(
        self,
        question: Question,
        choices: Sequence[Choice],
        default: str | None,
        *,
        closed: bool = False,
    ) -> str:
        if default is None:
            raise _needed(question)
        return default

    def text(
        self, question: Question, default: str | None, read: Callable[[str], Answer]
    ) -> Answer:
        if default is None:
            raise _needed(question)
        return checked(question, default, read)

    def agree(self, question: Question, *, default: bool) -> bool:
        return default

    def secret(self, question: Question) -> str | None:
        return None


def checked(question: Question, text: str, read: Callable[[str], Answer]) -> Answer:
    """An answer that came with an option. Raises UsageError where it cannot be one."""
    try:
        return read(text)
    except ValueError as error:
        raise UsageError(f"{question.option} {text}: {error}", question.why) from None


def _needed(question: Question) -> UsageError:
    return UsageError(f"nobody is here to be asked: {question.text}", f"say {question.option}")
