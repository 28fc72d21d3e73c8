"""Somebody at a terminal who is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click
from rich.text import Text

from edgefaced.cli.output import note, plain, stderr
from edgefaced.setup.asking import Answer, Choice, Question


class Terminal:
    """Questions on stderr, so that stdout has results only."""

    present = True

    def say(self, line: str) -> None:
        note(line)

    def choose(
        self,
        question: Question,
        choices: Sequence[Choice],
        default: str | None,
        *,
        closed: bool = False,
    ) -> str:
        _head(question)
        for number, choice in enumerate(choices, 1):
            note(f"  {number}  {choice.name}: {choice.words}")
        names = [choice.name for choice in choices]
        usual = None if default is None else str(names.index(default) + 1)
        while True:
            answer = _prompt("a number" if closed else "a number, or type it", usual)
            if answer.isdecimal() and 1 <= int(answer) <= len(names):
                return names[int(answer) - 1]
            if answer in names or not closed:
                return answer
            note(f"1 to {len(names)}, please")

    def text(
        self, question: Question, default: str | None, read: Callable[[str], Answer]
    ) -> Answer:
        _head(question)
        while True:
            try:
                return read(_prompt("answer", default))
            except ValueError as error:
                note(str(error))

    def agree(self, question: Question, *, default: bool) -> bool:
        _head(question)
        return click.confirm("yes or no", default=default, err=True)

    def secret(self, question: Question) -> str | None:
        _head(question)
        answer = click.prompt("answer", default="", show_default=False, hide_input=True, err=True)
        return str(answer) or None


def _head(question: Question) -> None:
    stderr.print()
    stderr.print(Text.assemble((plain(question.text).plain, "bold"), f" ({question.why})"))


def _prompt(words: str, default: str | None) -> str:
    return str(click.prompt(words, default=default, err=True)).strip()
