"""Which topics there are, and what a message is."""

from __future__ import annotations

import re
from dataclasses import dataclass

ONLINE, STOPPED, OFFLINE = b"online", b"stopped", b"offline"
"""Availability: at work, ended by somebody, gone (the last will)."""
LASTING_KINDS = frozenset({"camera", "pace"})
"""Events that say how things are from then on. They are retained, for whoever subscribes later;
events about people never are."""


@dataclass(frozen=True, slots=True)
class Message:
    """What is published; always with QoS 1."""

    topic: str
    payload: bytes
    retain: bool = False


@dataclass(frozen=True, slots=True)
class Topics:
    """The topics of one device. `prefix` and `node` hold nothing that MQTT reads specially."""

    prefix: str
    node: str

    @property
    def base(self) -> str:
        return f"{self.prefix}/{self.node}"

    @property
    def availability(self) -> str:
        return f"{self.base}/availability"

    @property
    def commands(self) -> str:
        """What to subscribe to for commands."""
        return self.command("+")

    def command(self, name: str) -> str:
        return f"{self.base}/command/{name}"

    def event(self, kind: str) -> str:
        """A kind of another version may be any text."""
        return f"{self.base}/event/{re.sub('[^A-Za-z0-9_-]', '_', kind) or '_'}"

    def command_in(self, topic: str) -> str | None:
        """The command's name, or None for another topic."""
        before, _, name = topic.rpartition("/")
        return name if before == f"{self.base}/command" else None

    def is_now(self, availability: bytes) -> Message:
        """Says it to everybody, also to those who come later."""
        return Message(self.availability, availability, retain=True)
