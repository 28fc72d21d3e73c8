"""Events to an MQTT broker: an event is taken when the broker has acknowledged it."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from edgefaced.errors import SinkAway
from edgefaced.events import Event
from edgefaced.sinks.mqtt.conversation import Broker, Conversation, Manners
from edgefaced.sinks.mqtt.discovery import BIRTH, Entity, announcements, status_topic
from edgefaced.sinks.mqtt.topics import LASTING_KINDS, ONLINE, STOPPED, Message
from edgefaced.sinks.patience import Patience
from edgefaced.sinks.wire import NameOf, described, packed

EMIT_SECONDS = 10.0
FAREWELL_SECONDS = 2.0
END_SECONDS = 2.0
PAUSES_SECONDS = (0.1, 30.0)
LASTS_SECONDS = 5.0
"""A connection that is lost before is one more failure, whatever came of it."""
RIVALS = 3
"""So many of those in a row: somebody else takes the name, and each takes it from the other."""
LONGEST_COMMAND_BYTES = 4096

Obey = Callable[[str, bytes, str], None]
"""Takes a command's name, its payload, and why it must not be obeyed, empty where it may be. Called
in a thread of the connection's: it must not block and must not raise. QoS 1 may bring a command
twice."""


@dataclass(frozen=True, slots=True)
class Habits:
    """What the sink does besides publishing events.

    `entities` are announced below `discovery_prefix` where there is one; `obey` gets commands that
    are sent to it while it listens; those that were kept for it, with the reason not to obey them.
    """

    discovery_prefix: str | None = None
    entities: Sequence[Entity] = ()
    obey: Obey | None = None


class MqttSink:
    """Keeps a connection, in a thread of its own, and publishes each event over it."""

    def __init__(
        self,
        broker: Broker,
        habits: Habits,
        *,
        stop: threading.Event,
        name_of: NameOf | None = None,
        pauses: tuple[float, float] = PAUSES_SECONDS,
    ) -> None:
        """`pauses` are the first and the longest before it connects again."""
        self._broker = broker
        self._habits = habits
        self._stop = stop
        self._name_of = name_of
        self._pauses = pauses
        self._brief = 0
        self._announcements = (
            ()
            if habits.discovery_prefix is None
            else announcements(habits.discovery_prefix, broker.topics, habits.entities)
        )
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._conversation = Conversation(broker, self._manners())
        self._keeper = threading.Thread(target=self._keep_connected, name="mqtt", daemon=True)
        self._keeper.start()

    def emit(self, event: Event) -> None:
        """Raises SinkAway where the broker has not acknowledged it in time."""
        body = described(event, self._name_of)
        kind = body["type"]
        topic = self._broker.topics.event(kind)
        self._publish(Message(topic, packed(body), retain=kind in LASTING_KINDS))

    def close(self) -> None:
        """Says that it stops, where somebody listens."""
        with self._lock:
            self._closing.set()
            conversation = self._conversation
        patience = Patience(FAREWELL_SECONDS, threading.Event())
        if conversation.welcome:
            with suppress(SinkAway):  # the last will says that it is gone
                conversation.publish(self._broker.topics.is_now(STOPPED), patience)
                conversation.part(patience)
        conversation.cut("all stops")
        # A look-up of a name may hang for long: such a thread ends by itself, without a word.
        self._keeper.join(END_SECONDS)

    def _publish(self, message: Message) -> None:
        patience = Patience(EMIT_SECONDS, self._stop)
        conversation = self._conversation
        # What is being connected is waited for, the pause after a failure is not.
        if not conversation.await_welcome(patience):
            reason = conversation.reason or "no connection yet"
            if self._brief >= RIVALS:
                reason += "; does another client have our name (mqtt.node)?"
            raise SinkAway(f"{self._broker.shown}: {reason}")
        conversation.publish(message, patience)

    def _keep_connected(self) -> None:
        first, longest = self._pauses
        pause = first
        while not self._closing.is_set():
            began = time.monotonic()
            self._conversation.hold()
            lasted = time.monotonic() - began > LASTS_SECONDS
            self._brief = self._brief + 1 if self._conversation.welcome and not lasted else 0
            pause = first if lasted else min(pause * 2, longest)
            # Not all devices of a house at once when their broker comes back.
            self._closing.wait(pause * secrets.SystemRandom().uniform(0.5, 1.0))
            with self._lock:
                if not self._closing.is_set():
                    self._conversation = Conversation(self._broker, self._manners())

    def _manners(self) -> Manners:
        topics, habits = self._broker.topics, self._habits
        subscriptions = []
        if habits.discovery_prefix is not None:
            subscriptions.append(status_topic(habits.discovery_prefix))
        if habits.obey is not None:
            subscriptions.append(topics.commands)
        greeting = (topics.is_now(ONLINE), *self._announcements)
        return Manners(greeting, tuple(subscriptions), self._hear)

    def _hear(self, topic: str, payload: bytes, retained: bool) -> Iterable[Message]:
        command = self._broker.topics.command_in(topic)
        if command is None:
            return self._announcements if payload == BIRTH else ()
        if self._habits.obey is not None:
            fault = "it is too long" if len(payload) > LONGEST_COMMAND_BYTES else ""
            self._habits.obey(command, payload, "the broker had kept it" if retained else fault)
        return ()
