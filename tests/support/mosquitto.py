"""A real broker that can be killed and started again, and a client that tells what it heard."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from paho.mqtt.client import Client, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.subscribeoptions import SubscribeOptions

PATIENCE_SECONDS = 60.0


def program() -> str:
    """The broker of this machine; skips where it has none."""
    found = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")
    if found is None:
        pytest.skip("this machine has no mosquitto (Debian package mosquitto)")
    return found


class Mosquitto:
    """A broker at a Unix socket, which stays its address over any number of lives.

    `listener` are further lines of its configuration, for a listener by TCP.
    """

    def __init__(self, folder: Path, *lines: str) -> None:
        self._program = program()
        self.socket = folder / "broker.sock"
        self._configuration = folder / "mosquitto.conf"
        self._log = folder / "mosquitto.log"
        self._configuration.write_text(
            "\n".join(
                (
                    # Root would become a user who may not look into this folder.
                    "user root",
                    "per_listener_settings true",
                    "max_queued_messages 0",
                    f"listener 0 {self.socket}",
                    "allow_anonymous true",
                    *lines,
                    "",
                )
            )
        )
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Returns when it takes connections."""
        self.socket.unlink(missing_ok=True)
        with self._log.open("ab") as log:
            words = [self._program, "-c", str(self._configuration)]
            self._process = subprocess.Popen(words, stdout=log, stderr=log)
        wait_until(self._answers, self._said)

    def freeze(self) -> None:
        """It answers nothing any more, and is there."""
        self._send(signal.SIGSTOP)

    def thaw(self) -> None:
        self._send(signal.SIGCONT)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Ends it; nothing where it does not run."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(PATIENCE_SECONDS)
            self._process = None

    def _send(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)

    def _answers(self) -> bool:
        with suppress(OSError), socket.socket(socket.AF_UNIX) as way:
            way.connect(str(self.socket))
            return True
        return False

    def _said(self) -> str:
        return self._log.read_text()


@contextmanager
def mosquitto(folder: Path, *lines: str) -> Iterator[Mosquitto]:
    """A broker that runs."""
    folder.mkdir(parents=True, exist_ok=True)
    broker = Mosquitto(folder, *lines)
    try:
        broker.start()
        yield broker
    finally:
        broker.thaw()
        broker.stop()


def wait_until(happened: Callable[[], bool], said: Callable[[], str] = str) -> None:
    """Polls; fails where it does not come true in a time that is long for any machine."""
    end = time.monotonic() + PATIENCE_SECONDS
    pause = threading.Event()
    while not happened():
        assert time.monotonic() < end, said()
        pause.wait(0.005)


@dataclass(frozen=True)
class Heard:
    """A message as a subscriber got it."""

    topic: str
    payload: bytes
    retain: bool


class Subscriber:
    """A client of its own that remembers all it hears, in order."""

    def __init__(self, broker: Mosquitto, *topics: str) -> None:
        self._changed = threading.Condition()
        self._subscribed = False
        self._over = False
        self.heard: list[Heard] = []
        self.client = Client(
            CallbackAPIVersion.VERSION2,
            transport="unix",
            protocol=MQTTv5,
            reconnect_on_failure=False,
        )
        self.client.on_subscribe = self._on_subscribe
        self.client.on_message = self._on_message
        self.client.on_disconnect = self._on_disconnect
        self.client.connect(str(broker.socket))
        self.client.loop_start()
        self.client.subscribe([(topic, SubscribeOptions(qos=0)) for topic in topics])
        self.wait(lambda: self._subscribed)

    def wait(self, happened: Callable[[], object]) -> None:
        with self._changed:
            assert self._changed.wait_for(happened, PATIENCE_SECONDS), self.heard[-5:]

    def drain(self) -> None:
        """Returns when all has come that a broker sent which is dead now."""
        self.wait(lambda: self._over)

    def on(self, topic: str) -> list[bytes]:
        """What was heard on a topic, in order."""
        return [m.payload for m in self.heard if m.topic == topic]

    def say(self, topic: str, payload: bytes, *, retain: bool = False) -> None:
        """Publishes, and returns when the broker has it."""
        self.client.publish(topic, payload, qos=1, retain=retain).wait_for_publish(PATIENCE_SECONDS)

    def catch_up(self) -> None:
        """Returns when all has come that the broker had for it until now."""
        mark = f"mark/{uuid4()}"
        self.client.subscribe(mark)
        self.say(mark, b"")
        self.wait(lambda: self.heard and self.heard[-1].topic == mark)
        with self._changed:
            self.heard.pop()

    def close(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()
        del self.client  # its descriptors go with it

    def __enter__(self) -> Subscriber:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _on_subscribe(self, *_: Any) -> None:
        with self._changed:
            self._subscribed = True
            self._changed.notify_all()

    def _on_disconnect(self, *_: Any) -> None:
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def _on_message(self, _: Any, __: Any, message: Any) -> None:
        with self._changed:
            self.heard.append(Heard(message.topic, message.payload, bool(message.retain)))
            self._changed.notify_all()
