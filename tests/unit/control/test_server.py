"""The control socket with real sockets: who may ask, what nonsense costs, and how it all ends."""

from __future__ import annotations

import itertools
import json
import os
import socket
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from idle_daemon import IdleDaemon
from painted_faces import RED
from sitters import POSES, batch, seen, sitting

from edgefaced.control.client import connect
from edgefaced.control.commands import Commands
from edgefaced.control.contract import Request, parse
from edgefaced.control.hub import EventHub
from edgefaced.control.peer import Access, AccessRule, Peer, rule_of_this_process
from edgefaced.control.server import Answers, ControlServer, ServerLimits
from edgefaced.control.snapshots import Pictures
from edgefaced.errors import (
    ConfigError,
    ControlBusy,
    Forbidden,
    NotRunning,
    Refused,
    UsageError,
)
from edgefaced.events import DecisionMade, Event, Happening, Trouble
from edgefaced.pipeline.tap import FaceTap, FrameTap
from edgefaced.sinks.names import GalleryNames
from edgefaced.types import Decision, Liveness, Outcome

ASK = b'{"contract_version": 1, "command": "status"}\n'
NOBODY, SOME_GROUP = 65534, 54321
SOMEBODY = Peer(1, NOBODY, frozenset({SOME_GROUP}))


@pytest.fixture
def folder() -> Iterator[Path]:
    """Everybody may enter it, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


class Names(GalleryNames):
    def name_of(self, person_id: str) -> str | None:
        return person_id.upper()


class Stand:
    """A server over a daemon that stands still."""

    def __init__(
        self, folder: Path, *, rule: AccessRule | None = None, limits: ServerLimits | None = None
    ) -> None:
        self.path = folder / "control.sock"
        self.daemon = IdleDaemon()
        self.hub = EventHub(capacity=20)
        self.reloads = threading.Semaphore(0)
        self.tap, self.frames = FaceTap(), FrameTap()
        self.allowed = True
        self.told: list[Happening] = []
        self.commands = Commands(
            self.daemon.vitals,
            self.reloads.release,
            self.hub,
            lambda: Names(folder, folder),
            lambda request: sitting(folder, self.tap, extend=request.add),
            Pictures(lambda: self.allowed, self.frames.take, self.told.append),
        )
        self.server = ControlServer(
            self.path, self.commands.answer, rule or rule_of_this_process("read"), limits
        )

    def __enter__(self) -> Stand:
        self.server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.hub.end()
        self.server.close()
        assert not self.path.exists()

    def raw(self) -> socket.socket:
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        client.settimeout(60)
        client.connect(str(self.path))
        return client


def lines(client: socket.socket) -> Iterator[dict[str, Any]]:
    with client.makefile("rb") as file:
        while True:
            try:
                line = file.readline()
            except ConnectionResetError:  # closed with something of ours unread
                return
            if not line:
                return
            yield json.loads(line)


def known(person: str) -> Event:
    decision = Decision(Outcome.KNOWN, person, 0.8, 0.5, Liveness.NOT_CHECKED, "match")
    return Event(DecisionMade(1, decision, 0, 1), "door")


def test_one_connection_asks_several_times(folder: Path) -> None:
    with Stand(folder) as stand, connect([folder / "no", stand.path]) as client:
        assert client.ask("status")["status"]["gallery_templates"] == 7
        stand.daemon.line.figures.templates = 8
        assert client.ask("status")["status"]["gallery_templates"] == 8
        client.ask("reload")
        assert stand.reloads.acquire(timeout=60)


def test_the_socket_is_for_owner_and_group(folder: Path) -> None:
    before = os.umask(0)
    try:
        with Stand(folder) as stand:
            assert stat.S_IMODE(stand.path.stat().st_mode) == 0o660
    finally:
        os.umask(before)


@pytest.mark.parametrize(
    ("line", "word"),
    [
        (b"\n", "JSON"),
        (b"status\n", "JSON"),
        (b"\xff\xfe\n", "JSON"),
        (b"[]\n", "not a request"),
        (b'{"contract_version": 2, "command": "status"}\n', "contract_version"),
        (b'{"command": "status"}\n', "contract_version"),
        (b'{"contract_version": 1, "command": "open the door"}\n', "open the door"),
        (b'{"contract_version": 1, "command": "status", "more": 1}\n', "more"),
        (b"[" * 5000 + b"\n", "JSON"),
    ],
)
def test_nonsense_is_refused_and_the_next_request_is_answered(
    folder: Path, line: bytes, word: str
) -> None:
    with Stand(folder) as stand, stand.raw() as client:
        client.sendall(line + ASK)
        answers = lines(client)
        refused = next(answers)
        assert (refused["ok"], refused["error"]["code"]) == (False, "usage")
        assert word in refused["error"]["message"]
        assert refused["error"]["hint"]
        assert next(answers)["ok"] is True
        answers.close()  # type: ignore[attr-defined]  # a generator


def test_a_line_without_end_is_refused_and_cut_off(folder: Path) -> None:
    limits = ServerLimits(request_bytes=1000)
    with Stand(folder, limits=limits) as stand, stand.raw() as client:
        client.sendall(b"x" * 8000)
        refused, *more = lines(client)
        assert "1000 bytes" in refused["error"]["message"]
        assert more == []


def test_a_client_that_never_finishes_its_request_is_left(folder: Path) -> None:
    limits = ServerLimits(request_seconds=0.05)
    with Stand(folder, limits=limits) as stand, stand.raw() as client:
        client.sendall(ASK[:10])
        assert list(lines(client)) == []


def test_events_come_from_the_answer_on_with_names_for_those_who_may(folder: Path) -> None:
    with Stand(folder) as stand, stand.raw() as one, connect([stand.path]) as two:
        stand.hub.emit(known("too early"))
        one.sendall(ASK.replace(b"status", b"events"))
        first = lines(one)
        assert next(first)["stream"] is True
        two.ask("events")
        stand.hub.emit(known("ann"))
        second = two.follow()
        for stream in (first, second):
            event = next(stream)
            assert (event["type"], event["id"], event["name"]) == ("face", "ann", "ANN")
        first.close()  # type: ignore[attr-defined]  # a generator


def test_a_slow_listener_loses_the_oldest_and_is_told_how_many(folder: Path) -> None:
    total = 3000
    with Stand(folder) as stand, connect([stand.path]) as client:
        client.ask("events")
        for number in range(total):
            stand.hub.emit(Event(Trouble("test", f"{number} {'x' * 500}"), "door"))
        stand.hub.end()
        seen, lost = [], 0
        for document in client.follow():
            if document["type"] == "lost":
                lost += document["events"]
            else:
                seen.append(int(document["detail"].split()[0]))
        assert lost > 0
        assert len(seen) + lost == total
        assert seen == sorted(seen)
        assert seen[-1] == total - 1, "the newest is never lost"


def test_a_listener_that_never_reads_is_left_and_nobody_waits_for_it(folder: Path) -> None:
    limits = ServerLimits(send_seconds=0.05)
    with Stand(folder, limits=limits) as stand, stand.raw() as deaf:
        deaf.sendall(ASK.replace(b"status", b"events"))
        left = False
        while not left:
            stand.hub.emit(Event(Trouble("test", "x" * 10000), "door"))
            try:
                deaf.send(b"\n", socket.MSG_DONTWAIT)
            except (BrokenPipeError, ConnectionResetError):
                left = True
            except BlockingIOError:
                pass
        with connect([stand.path]) as other:
            assert other.ask("status")["ok"]


def test_a_stop_ends_clients_that_wait_listen_and_do_not_read(folder: Path) -> None:
    limits = ServerLimits(grace_seconds=0.2, send_seconds=600, request_seconds=600)
    with ExitStack() as clients:
        with Stand(folder, limits=limits) as stand:
            silent, half, deaf = (clients.enter_context(stand.raw()) for _ in range(3))
            half.sendall(ASK[:5])
            deaf.sendall(ASK.replace(b"status", b"events"))
            listener = clients.enter_context(connect([stand.path]))
            listener.ask("events")
            for _ in range(20):
                stand.hub.emit(Event(Trouble("test", "x" * 100000), "door"))
            # The one who reads gets everything that was said before the end.
            stand.hub.end()
            seen = [d for d in listener.follow() if d["type"] == "trouble"]
            assert len(seen) == 20
        assert list(lines(silent)) == []
        assert not [t for t in threading.enumerate() if t.name.startswith("control")]
        with pytest.raises(NotRunning):
            connect([stand.path])


def test_a_listener_to_whom_nothing_happens_stays_until_it_goes(folder: Path) -> None:
    gone = threading.Event()

    def nothing_for_long(request: Request, access: Access, peer: Peer) -> Answers:
        try:
            yield {"stream": True}
            for _ in range(5):
                yield None
            yield {"type": "at last"}
            while True:
                yield None
        finally:
            gone.set()

    limits = ServerLimits(send_seconds=0.05)
    path = folder / "control.sock"
    with ControlServer(path, nothing_for_long, rule_of_this_process("none"), limits):
        with connect([path]) as client:
            client.ask("events")
            assert next(client.follow()) == {"type": "at last"}
            assert not gone.is_set()
        assert gone.wait(60)


def test_a_person_is_enrolled_through_the_socket_one_at_a_time(folder: Path) -> None:
    with Stand(folder) as stand, connect([stand.path]) as client, connect([stand.path]) as other:
        client.ask("enrol", name="Ann", consent="said yes", seconds=300)
        with pytest.raises(ControlBusy, match="somebody else"):
            other.ask("enrol", name="Bob")
        stop = threading.Event()

        def sit() -> None:
            for number, quality in itertools.cycle(enumerate(POSES)):
                for _ in range(10):
                    stand.tap.show(batch(seen(RED, quality, number)))
                    if stop.wait(0.01):
                        return

        sitter = threading.Thread(target=sit)
        sitter.start()
        *guidance, report = client.follow()
        stop.set()
        sitter.join()
        assert {step["type"] for step in guidance} == {"guidance"}
        assert guidance[-1]["missing"] == []
        assert (report["type"], report["ok"], report["kept"]) == ("report", True, 5)
        assert report["person"]["consent"]["note"] == "said yes"
        with pytest.raises(Refused, match="already enrolled"):
            other.ask("enrol", name="Ann")


def test_whoever_leaves_a_sitting_frees_the_chair_and_a_stop_ends_it(folder: Path) -> None:
    with ExitStack() as clients:
        with Stand(folder) as stand:
            with connect([stand.path]) as client:
                client.ask("enrol", name="Ann", seconds=300)
            second = clients.enter_context(connect([stand.path]))
            while True:
                try:
                    second.ask("enrol", name="Bob", seconds=300)
                except ControlBusy:
                    continue
                break
        assert {step["type"] for step in second.follow()} <= {"guidance"}
    with sitting(folder, FaceTap()).open_gallery() as gallery:
        assert gallery.people() == []


def test_too_many_clients_are_told_so(folder: Path) -> None:
    with Stand(folder, limits=ServerLimits(clients=2)) as stand, ExitStack() as clients:
        for _ in range(2):
            clients.enter_context(connect([stand.path])).ask("status")
        third = clients.enter_context(connect([stand.path]))
        with pytest.raises(ControlBusy) as caught:
            third.ask("status")
        assert caught.value.retryable


def be_nobody_and_ask(orders: socket.socket, groups: list[int]) -> None:
    """In a process of its own."""
    os.setgroups(groups)
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    with orders.makefile("rw") as talk:
        for line in talk:
            path, request = json.loads(line)
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
                client.connect(path)
                with suppress(BrokenPipeError):  # refused before anything was asked
                    client.sendall(json.dumps(request).encode() + b"\n")
                with client.makefile() as answers:
                    talk.write(answers.readline())
            talk.flush()


@contextmanager
def somebody_else(groups: list[int]) -> Iterator[Callable[[Path, str], dict[str, Any]]]:
    """Another user's process, which asks; it is forked before the server has threads."""
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    ours, theirs = socket.socketpair()
    process = os.fork()
    if process == 0:
        try:
            ours.close()
            be_nobody_and_ask(theirs, groups)
            os._exit(0)
        finally:
            os._exit(1)
    theirs.close()

    def ask(path: Path, command: str) -> dict[str, Any]:
        path.chmod(0o666)  # the file's mode is not what is tested here
        talk.write(json.dumps([str(path), {"contract_version": 1, "command": command}]) + "\n")
        talk.flush()
        answer: dict[str, Any] = json.loads(talk.readline())
        return answer

    with ours, ours.makefile("rw") as talk:
        yield ask
        ours.shutdown(socket.SHUT_WR)
        assert os.waitpid(process, 0)[1] == 0


def test_strangers_may_nothing(folder: Path) -> None:
    rule = AccessRule(0, SOME_GROUP, Access.FULL)
    with somebody_else([]) as ask, Stand(folder, rule=rule) as stand:
        answer = ask(stand.path, "status")
        assert (answer["ok"], answer["error"]["code"]) == (False, "forbidden")


def test_the_group_may_what_the_configuration_says(folder: Path) -> None:
    with somebody_else([1, SOME_GROUP]) as ask:
        with Stand(folder, rule=AccessRule(0, SOME_GROUP, Access.READ)) as stand:
            assert ask(stand.path, "status")["ok"] is True
            assert ask(stand.path, "reload")["error"]["code"] == "forbidden"
            assert not stand.reloads.acquire(blocking=False)
        with Stand(folder, rule=AccessRule(0, SOME_GROUP, Access.FULL)) as stand:
            assert ask(stand.path, "reload")["ok"] is True
        with Stand(folder, rule=AccessRule(0, SOME_GROUP, Access.NONE)) as stand:
            assert ask(stand.path, "status")["error"]["code"] == "forbidden"


def test_whoever_may_only_read_gets_no_picture(folder: Path) -> None:
    stand = Stand(folder)
    request = parse(ASK.replace(b"status", b"snapshot").strip())
    with pytest.raises(Forbidden, match="snapshot"):
        next(stand.commands.answer(request, Access.READ, SOMEBODY))
    assert stand.told == []


def test_whoever_may_only_read_sees_no_name(folder: Path) -> None:
    stand = Stand(folder)
    request = parse(ASK.replace(b"status", b"events").strip())
    answers = stand.commands.answer(request, Access.READ, SOMEBODY)
    next(answers)
    stand.hub.emit(known("ann"))
    event = next(answers)
    assert event is not None
    assert (event["id"], event["name"]) == ("ann", None)
    stand.hub.end()
    assert list(answers) == []


def test_a_file_that_nobody_answers_at_is_replaced(folder: Path) -> None:
    stale = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    stale.bind(str(folder / "control.sock"))
    stale.close()
    with Stand(folder) as stand, connect([stand.path]) as client:
        assert client.ask("status")["ok"]


def test_another_daemon_and_another_file_are_left_alone(folder: Path) -> None:
    with Stand(folder) as first:
        with pytest.raises(ConfigError, match="another daemon"):
            Stand(folder).server.__enter__()
        with connect([first.path]) as client:
            assert client.ask("status")["ok"]
    first.path.write_text("precious")
    with pytest.raises(ConfigError, match="no socket"):
        Stand(folder).server.__enter__()
    assert first.path.read_text() == "precious"


def test_a_path_that_is_too_long_is_one_line(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"control.socket = .*too long"):
        Stand(folder / ("x" * 120)).server.__enter__()


def test_a_file_put_in_our_place_is_not_removed(folder: Path) -> None:
    stand = Stand(folder)
    with stand.server:
        stand.path.unlink()
        stand.path.write_text("another's")
    assert stand.path.read_text() == "another's"


def test_what_answers_and_is_no_daemon_is_said(folder: Path) -> None:
    path = folder / "other.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
        other.bind(str(path))
        other.listen()
        for reply in (b"220 hello\n", b"[1]\n", b""):
            with connect([path]) as client:
                connection, _ = other.accept()
                with connection:
                    connection.sendall(reply)
                    connection.shutdown(socket.SHUT_WR)
                    with pytest.raises(NotRunning):
                        client.ask("status")


def test_errors_arrive_as_what_they_are(folder: Path) -> None:
    with Stand(folder) as stand, connect([stand.path]) as client:
        with pytest.raises(UsageError, match="nonsense"):
            client.ask("nonsense")
        assert isinstance(client.ask("status"), dict)
    with Stand(folder, rule=AccessRule(1, 1, Access.NONE)) as stand:
        if os.geteuid() == 0:
            return
        with connect([stand.path]) as client, pytest.raises(Forbidden):
            client.ask("status")
