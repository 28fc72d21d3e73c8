"""Every sink of the project with a real far end, for the suite that all of them pass.

A new sink gets a function like these and a line in RIGS.
"""

from __future__ import annotations

import json
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

import door_rigs
from gate import Gate
from mosquitto import Subscriber, mosquitto
from receiver import receiving

from edgefaced.control.hub import EventHub
from edgefaced.doors.doorkeeper import Doorkeeper, GalleryRights
from edgefaced.protocols import EventSink
from edgefaced.sinks.command import CommandSink
from edgefaced.sinks.journal import JournalSink, journal_writer
from edgefaced.sinks.lines import FileLines, StreamLines
from edgefaced.sinks.mqtt.conversation import Broker
from edgefaced.sinks.mqtt.sink import Habits, MqttSink
from edgefaced.sinks.mqtt.topics import Topics
from edgefaced.sinks.posting import Poster, endpoint
from edgefaced.sinks.signing import keys_in
from edgefaced.sinks.webhook import WebhookSink
from edgefaced.sinks.wire import NameOf

KEYS = keys_in("whsec_" + "A" * 43 + "=", "a test")


@dataclass(frozen=True)
class Wish:
    """What the suite asks of a rig: a folder, what stops the sink's waiting, who knows names."""

    folder: Path
    stop: threading.Event
    name_of: NameOf | None = None


@dataclass(frozen=True)
class FarEnd:
    """How to put the far end out of reach and back."""

    go: Callable[[], None]
    come_back: Callable[[], None]


@dataclass(frozen=True)
class Rig:
    """A sink at work. `arrived` gives the texts that the far end has got so far, one an event and
    in order, each with the event's id in it; None for a sink that says nothing of ids.
    """

    sink: EventSink
    arrived: Callable[[], list[str]] | None
    far_end: FarEnd | None = None
    """None where nothing is far away."""
    knows_names: bool = True


class JournalEar:
    """A datagram socket in journald's place, read by a thread of its own."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._got = SimpleQueue[bytes]()
        self._heard: list[str] = []
        self._open()

    def heard(self) -> list[str]:
        """All that was sent until now."""
        mark = b"mark"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as way:
            way.sendto(mark, str(self._path))
        while (entry := self._got.get(timeout=60)) != mark:
            self._heard.append(entry.decode())
        return list(self._heard)

    def go(self) -> None:
        self.heard()
        self._path.unlink()
        self._ear.shutdown(socket.SHUT_RD)
        self._thread.join()
        self._ear.close()

    def come_back(self) -> None:
        self._open()

    def _open(self) -> None:
        self._ear = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._ear.bind(str(self._path))
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        while entry := self._ear.recv(1 << 16):
            self._got.put(entry)


@contextmanager
def journal(wish: Wish) -> Iterator[Rig]:
    path = wish.folder / "journal.sock"
    ear = JournalEar(path)
    sink = JournalSink(journal_writer(sys.stderr, path))
    yield Rig(sink, ear.heard, FarEnd(ear.go, ear.come_back), knows_names=False)
    if path.exists():
        ear.go()


@contextmanager
def hub(wish: Wish) -> Iterator[Rig]:
    sink, got = EventHub(), list[str]()
    with sink.listening() as listener:

        def arrived() -> list[str]:
            while (event := listener.take(0)) is not None:
                got.append(event.id)
            return list(got)

        yield Rig(sink, arrived, knows_names=False)
        sink.end()


@contextmanager
def stream_lines(wish: Wish) -> Iterator[Rig]:
    path = wish.folder / "stdout"
    with path.open("w", encoding="utf-8", errors="backslashreplace") as stream:
        yield Rig(StreamLines(stream, wish.name_of), lambda: _lines_of(path))


@contextmanager
def file_lines(wish: Wish) -> Iterator[Rig]:
    folder, elsewhere = wish.folder / "here", wish.folder / "elsewhere"
    folder.mkdir()
    path = folder / "events.jsonl"
    yield Rig(
        FileLines(path, name_of=wish.name_of),
        lambda: _lines_of(path),
        FarEnd(lambda: _move(folder, elsewhere), lambda: _move(elsewhere, folder)),
    )


@contextmanager
def command(wish: Wish) -> Iterator[Rig]:
    path, program = wish.folder / "taken", wish.folder / "take"
    elsewhere = wish.folder / "take.away"
    program.write_text(f'#!/bin/sh\ncat >> "{path}"\n')
    program.chmod(0o755)
    yield Rig(
        CommandSink([str(program)], seconds=30, stop=wish.stop, name_of=wish.name_of),
        lambda: _lines_of(path),
        FarEnd(lambda: _move(program, elsewhere), lambda: _move(elsewhere, program)),
    )


@contextmanager
def webhook(wish: Wish) -> Iterator[Rig]:
    with receiving() as server:

        def away(value: bool) -> Callable[[], None]:
            return lambda: setattr(server, "away", value)

        where = endpoint(f"{server.url}/hook")
        poster = Poster(where, None, seconds=20, stop=wish.stop)
        yield Rig(
            WebhookSink(poster, where.shown, KEYS, name_of=wish.name_of),
            lambda: [got.body.decode() for got in server.taken],
            FarEnd(away(True), away(False)),
        )


@contextmanager
def mqtt(wish: Wish) -> Iterator[Rig]:
    topics = Topics("edgefaced", "door")
    with mosquitto(wish.folder) as broker, Gate(broker.socket) as gate, ExitStack() as stack:
        ears: list[Subscriber] = []

        def listen() -> None:
            ears.append(stack.enter_context(Subscriber(broker, f"{topics.base}/event/+")))
            gate.open()

        def arrived() -> list[str]:
            # What went before it on the same connection has come when this has.
            ears[-1].catch_up()
            return [message.payload.decode() for ear in ears for message in ear.heard]

        def go() -> None:
            arrived()
            gate.shut()
            broker.stop(signal.SIGKILL)

        def come_back() -> None:
            broker.start()
            listen()

        listen()
        sink = MqttSink(
            Broker("127.0.0.1", gate.port, topics), Habits(), stop=wish.stop, name_of=wish.name_of
        )
        yield Rig(sink, arrived, FarEnd(go, come_back))


@contextmanager
def doorkeeper(wish: Wish) -> Iterator[Rig]:
    doors = door_rigs.Rig(door_rigs.settings(), wish.folder / "doors.json")
    nowhere = GalleryRights(wish.folder / "no gallery", wish.folder / "no key")
    ended = threading.Event()
    yield Rig(Doorkeeper(doors.house, nowhere, ended.set), None, knows_names=False)
    assert ended.is_set()
    assert doors.orders == [], "nobody has any right here"


def ids_in(texts: list[str]) -> list[str]:
    """The ids of events in what arrived."""
    return [_id_in(text) for text in texts]


def _id_in(text: str) -> str:
    if text.startswith("{"):
        return str(json.loads(text)["event_id"])
    fields = (line.partition("=") for line in text.splitlines())
    return next((value for key, _, value in fields if key == "EDGEFACED_EVENT_ID"), text)


def _lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def _move(path: Path, to: Path) -> None:
    path.rename(to)


RIGS: list[Callable[[Wish], AbstractContextManager[Rig]]] = [
    journal,
    hub,
    stream_lines,
    file_lines,
    command,
    webhook,
    mqtt,
    doorkeeper,
]
