"""The MQTT sink and a broker that is picky: TLS with an authority of its own, passwords, rights."""

from __future__ import annotations

import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from certificates import Authority
from gate import Gate
from happenings import decisions
from mosquitto import mosquitto, program, wait_until

from edgefaced.errors import SinkAway
from edgefaced.sinks.mqtt.conversation import Broker
from edgefaced.sinks.mqtt.sink import Habits, MqttSink
from edgefaced.sinks.mqtt.topics import Topics

pytestmark = pytest.mark.filterwarnings(
    # paho leaves the descriptor of a handshake that failed to the collector.
    "ignore::pytest.PytestUnraisableExceptionWarning"
)

TOPICS = Topics("edgefaced", "door")
PASSWORD = "correct horse"  # noqa: S105 - the test's


@contextmanager
def broker_with(folder: Path, *lines: str) -> Iterator[Gate]:
    """A port that leads to a second listener, with these lines for it."""
    way = folder / "picky.sock"
    with mosquitto(folder, f"listener 0 {way}", *lines), Gate(way) as gate:
        gate.open()
        yield gate


def tls(authority: Authority, *hosts: str) -> tuple[str, ...]:
    certificate, key = authority.certify("broker", *hosts)
    return (
        f"cafile {authority.file}",
        f"certfile {certificate}",
        f"keyfile {key}",
        "allow_anonymous true",
    )


@contextmanager
def sink_to(broker: Broker) -> Iterator[MqttSink]:
    with closing(MqttSink(broker, Habits(), stop=threading.Event(), pauses=(0.05, 0.2))) as sink:
        yield sink


def fault_of(broker: Broker) -> str:
    """Why an event is not taken."""
    with sink_to(broker) as sink, pytest.raises(SinkAway) as caught:
        sink.emit(decisions(1)[0])
    return caught.value.message


def believing(authority: Authority) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=authority.file)


def test_tls_with_the_right_authority_and_no_other(tmp_path: Path) -> None:
    authority, other = Authority(tmp_path / "ours"), Authority(tmp_path / "other", "Somebody else")
    with broker_with(tmp_path, *tls(authority, "localhost")) as gate:
        good = Broker("localhost", gate.port, TOPICS, believing(authority))
        with sink_to(good) as sink:
            for event in decisions(3):
                sink.emit(event)
        wrong = Broker("localhost", gate.port, TOPICS, believing(other))
        assert "certificate verify failed" in fault_of(wrong)
        not_its_name = Broker("127.0.0.1", gate.port, TOPICS, believing(authority))
        assert "127.0.0.1" in fault_of(not_its_name)
        everybody = Broker("localhost", gate.port, TOPICS, ssl.create_default_context())
        assert "certificate verify failed" in fault_of(everybody)


def test_a_broker_may_ask_for_the_devices_certificate(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "ours")
    lines = (*tls(authority, "localhost"), "require_certificate true")
    with broker_with(tmp_path, *lines) as gate:
        context = believing(authority)
        assert fault_of(Broker("localhost", gate.port, TOPICS, context))
        context.load_cert_chain(*authority.certify("door"))
        with sink_to(Broker("localhost", gate.port, TOPICS, context)) as sink:
            sink.emit(decisions(1)[0])


def test_a_wrong_password_is_refused_in_words_without_it(tmp_path: Path) -> None:
    program()  # its package has the next one
    passwords = tmp_path / "passwords"
    subprocess.run(
        ["mosquitto_passwd", "-c", "-b", str(passwords), "door", PASSWORD],
        check=True,
        capture_output=True,
    )
    with broker_with(tmp_path, f"password_file {passwords}", "allow_anonymous false") as gate:
        with sink_to(
            Broker("127.0.0.1", gate.port, TOPICS, username="door", password=PASSWORD)
        ) as sink:
            sink.emit(decisions(1)[0])
        wrong = Broker("127.0.0.1", gate.port, TOPICS, username="door", password="wr0ng")  # noqa: S106
        assert fault_of(wrong) == f"127.0.0.1:{gate.port}: refuses us: Not authorized"
        assert "Not authorized" in fault_of(Broker("127.0.0.1", gate.port, TOPICS))
        assert "wr0ng" not in repr(wrong)


def test_what_may_not_be_published_is_not_taken(tmp_path: Path) -> None:
    rights = tmp_path / "rights"
    rights.write_text(f"topic write {TOPICS.availability}\n")
    lines = (f"acl_file {rights}", "allow_anonymous true")
    with broker_with(tmp_path, *lines) as gate:
        broker = Broker("127.0.0.1", gate.port, TOPICS)
        assert fault_of(broker).endswith("does not take edgefaced/door/event/face: Not authorized")


def test_a_broker_that_comes_up_late_is_found(tmp_path: Path) -> None:
    with broker_with(tmp_path, "allow_anonymous true") as gate:
        gate.shut()
        event = decisions(1)[0]
        with sink_to(Broker("127.0.0.1", gate.port, TOPICS)) as sink:
            wait_until(lambda: gate.turned_away >= 3)
            gate.open()

            def taken() -> bool:
                try:
                    sink.emit(event)
                except SinkAway:
                    return False
                return True

            wait_until(taken)
