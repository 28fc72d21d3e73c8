"""What the broker has acknowledged; numbers of messages are used again after 65,535 of them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paho.mqtt.reasoncodes import ReasonCode


class Receipts:
    """Answers to messages that somebody waits for, until they are fetched; tells by `changed`.

    Answers that nobody asks for are not kept: they would pass for those of later messages.
    """

    def __init__(self, changed: threading.Condition) -> None:
        self._changed = changed
        self._answers: dict[int, ReasonCode] = {}
        self._unasked: set[int] = set()

    def ignore(self, number: int) -> None:
        """Nobody will ask for this one; to be said before the answer can come."""
        with self._changed:
            self._unasked.add(number)

    def came(self, number: int, answer: ReasonCode) -> None:
        """From the broker."""
        with self._changed:
            if number in self._unasked:
                self._unasked.discard(number)
                return
            self._answers[number] = answer
            self._changed.notify_all()

    def has(self, number: int) -> bool:
        """Whether the answer is there."""
        return number in self._answers

    def fetch(self, number: int) -> ReasonCode | None:
        """The answer, once; None where there is none."""
        with self._changed:
            return self._answers.pop(number, None)
