"""One connection to the broker, from CONNECT to its end; what was in flight ends with it."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from edgefaced.errors import SinkAway
from edgefaced.sinks.mqtt.receipts import Receipts
from edgefaced.sinks.mqtt.topics import OFFLINE, Message, Topics
from edgefaced.sinks.patience import Patience

if TYPE_CHECKING:
    from paho.mqtt.client import Client
    from paho.mqtt.reasoncodes import ReasonCode

CONNECT_SECONDS = 5.0
KEEP_ALIVE_SECONDS = 30
SLICE_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Broker:
    """Whom to connect to, and as whom. `topics` also give the client's id."""

    host: str
    port: int
    topics: Topics
    context: ssl.SSLContext | None = None
    username: str | None = None
    password: str | None = None

    @property
    def shown(self) -> str:
        """What messages call it; the password is nowhere in them."""
        return f"{self.host}:{self.port}"

    def __repr__(self) -> str:
        return f"Broker({self.shown})"


@dataclass(frozen=True, slots=True)
class Manners:
    """How to behave: what to say at every connection, what to listen to, and what to do about it.

    `hear` gets topic, payload and whether the message was retained, and returns answers. It is
    called in a thread of the connection's and must not block.
    """

    greeting: tuple[Message, ...]
    subscriptions: tuple[str, ...]
    hear: Callable[[str, bytes, bool], Iterable[Message]]


class Conversation:
    """One connection; `hold` it in one thread, `publish` from another."""

    def __init__(self, broker: Broker, manners: Manners) -> None:
        self._broker = broker
        self._manners = manners
        self._changed = threading.Condition()
        self._receipts = Receipts(self._changed)
        self.welcome = False
        """The broker has accepted it."""
        self.over = False
        self.reason = ""
        """Why it came to nothing or ended."""
        self._client: Client | None = self._new_client()

    def hold(self) -> None:
        """Connects and stays until it is over; `reason` says why. Once only."""
        client = self._client
        if client is None:
            return
        try:
            client.connect(self._broker.host, self._broker.port, KEEP_ALIVE_SECONDS)
        except (OSError, ValueError) as error:  # ValueError: a name that cannot be looked up
            strerror = error.strerror if isinstance(error, OSError) else None
            self._note(str(strerror or error), over=True)
        else:
            client.loop_start()
            with self._changed:
                self._changed.wait_for(lambda: self.over)
            _shut(client)
            client.loop_stop()
        # The last reference but the caller's: with it go the client's own descriptors.
        self._client = None

    def await_welcome(self, patience: Patience) -> bool:
        """Whether it is accepted in time, before it is over."""
        self._await(lambda: self.welcome or self.over, patience)
        return self.welcome and not self.over

    def publish(self, message: Message, patience: Patience) -> None:
        """Returns once the broker has acknowledged it. Raises SinkAway otherwise.

        A broker that does not answer in time is taken for gone.
        """
        client = self._client
        if client is None:
            raise SinkAway(f"{self._broker.shown}: {self.reason}")
        info = client.publish(message.topic, message.payload, qos=1, retain=message.retain)
        self._await(lambda: self._receipts.has(info.mid) or self.over, patience)
        answer = self._receipts.fetch(info.mid)
        if answer is None:
            self.cut("it does not acknowledge what it gets")
            raise SinkAway(f"{self._broker.shown}: {self.reason}")
        if answer.is_failure:
            raise SinkAway(f"{self._broker.shown} does not take {message.topic}: {answer}")

    def part(self, patience: Patience) -> None:
        """Ends it in good order: the last will is not published."""
        if self._client is not None:
            self._client.disconnect()
        self._await(lambda: self.over, patience)

    def cut(self, reason: str) -> None:
        """Ends it at once, whatever the network does; the broker publishes the last will."""
        self._note(reason, over=True)
        if self._client is not None:
            _shut(self._client)

    def _new_client(self) -> Client:
        from paho.mqtt.client import Client, MQTTv5
        from paho.mqtt.enums import CallbackAPIVersion

        topics = self._broker.topics
        client = Client(
            CallbackAPIVersion.VERSION2,
            client_id=topics.base.replace("/", "-"),
            # Version 5 says why it refuses: a message that may not be published is not "taken".
            protocol=MQTTv5,
            reconnect_on_failure=False,
        )
        client.connect_timeout = CONNECT_SECONDS
        client.will_set(topics.availability, OFFLINE, qos=1, retain=True)
        if self._broker.context is not None:
            client.tls_set_context(self._broker.context)
        if self._broker.username is not None:
            client.username_pw_set(self._broker.username, self._broker.password)
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        client.on_publish = self._on_publish
        client.on_message = self._on_message
        return client

    # What paho calls, in the thread that it started.

    def _on_connect(self, client: Client, _: Any, flags: Any, code: ReasonCode, props: Any) -> None:
        from paho.mqtt.subscribeoptions import SubscribeOptions

        if code.is_failure:
            self._note(f"refuses us: {code}")
            return
        self._say(client, self._manners.greeting)
        # What somebody left there before we came is not sent; what is left there now is marked.
        options = SubscribeOptions(
            qos=1, retainAsPublished=True, retainHandling=SubscribeOptions.RETAIN_DO_NOT_SEND
        )
        if self._manners.subscriptions:
            client.subscribe([(topic, options) for topic in self._manners.subscriptions])
        with self._changed:
            self.welcome = True
            self._changed.notify_all()

    def _on_disconnect(self, client: Any, _: Any, flags: Any, code: ReasonCode, props: Any) -> None:
        self._note(f"connection lost: {code}", over=True)

    def _on_publish(self, _: Any, __: Any, mid: int, code: ReasonCode, props: Any) -> None:
        self._receipts.came(mid, code)

    def _on_message(self, client: Client, _: Any, message: Any) -> None:
        self._say(client, self._manners.hear(message.topic, message.payload, bool(message.retain)))

    def _say(self, client: Client, messages: Iterable[Message]) -> None:
        """Without waiting; answers are heard in this thread as well, and so none comes before."""
        for message in messages:
            info = client.publish(message.topic, message.payload, qos=1, retain=message.retain)
            self._receipts.ignore(info.mid)

    def _note(self, reason: str, *, over: bool = False) -> None:
        with self._changed:
            self.reason = self.reason or reason
            self.over = self.over or over
            self._changed.notify_all()

    def _await(self, happened: Callable[[], bool], patience: Patience) -> None:
        with self._changed:
            while not happened() and not patience.is_over():
                self._changed.wait(SLICE_SECONDS)


def _shut(client: Client) -> None:
    way = client.socket()
    if isinstance(way, socket.socket):
        with suppress(OSError):  # over already
            # Not SSLSocket's, which would take away what paho's thread reads from.
            socket.socket.shutdown(way, socket.SHUT_RDWR)
