"""The MQTT sink and a real broker: what is said when, who is believed, and what is never obeyed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from gate import Gate
from happenings import ANN, decisions
from mosquitto import Mosquitto, Subscriber, mosquitto, wait_until

from edgefaced.errors import SinkAway
from edgefaced.events import CameraChanged, Event
from edgefaced.sinks.mqtt.conversation import Broker
from edgefaced.sinks.mqtt.discovery import standard_entities
from edgefaced.sinks.mqtt.sink import Habits, MqttSink
from edgefaced.sinks.mqtt.topics import Topics

TOPICS = Topics("edgefaced", "door")
BASE = TOPICS.base


class House:
    """A broker, a way to it by TCP, somebody who listens, and sinks that are closed at the end."""

    def __init__(self, broker: Mosquitto, gate: Gate, ear: Subscriber, stack: ExitStack) -> None:
        self.broker, self.gate, self.ear = broker, gate, ear
        self._stack = stack
        self.stop = threading.Event()

    @property
    def address(self) -> Broker:
        return Broker("127.0.0.1", self.gate.port, TOPICS)

    def sink(self, habits: Habits | None = None, broker: Broker | None = None) -> MqttSink:
        sink = MqttSink(
            broker or self.address, habits or Habits(), stop=self.stop, pauses=(0.05, 0.2)
        )
        self._stack.callback(sink.close)
        return sink

    def says(self, topic: str, count: int = 1) -> list[bytes]:
        """So many messages on a topic, waited for."""
        self.ear.wait(lambda: len(self.ear.on(topic)) >= count)
        return self.ear.on(topic)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with (
        mosquitto(tmp_path) as broker,
        Gate(broker.socket) as gate,
        Subscriber(broker, f"{BASE}/#", "homeassistant/+/#") as ear,
        ExitStack() as stack,
    ):
        gate.open()
        yield House(broker, gate, ear, stack)


def test_availability_is_said_at_every_connection_and_at_the_end(house: House) -> None:
    sink = house.sink()
    assert house.says(TOPICS.availability) == [b"online"]
    first, second = decisions(2)
    sink.emit(first)
    house.broker.stop(signal.SIGKILL)
    house.broker.start()
    with Subscriber(house.broker, f"{BASE}/#") as ear:
        wait_until(lambda: taken(sink, second))
        ear.wait(lambda: ear.on(TOPICS.availability))
        assert ear.on(TOPICS.availability)[0] == b"online"
        sink.close()
        ear.wait(lambda: b"stopped" in ear.on(TOPICS.availability))
        ear.catch_up()
        assert ear.on(TOPICS.availability)[-1] == b"stopped", "and no last will after it"
    with Subscriber(house.broker, TOPICS.availability) as late:
        late.wait(lambda: late.heard)
        assert late.heard[0].retain, "whoever comes later knows it too"


def test_the_last_will_says_that_a_killed_daemon_is_gone(house: House) -> None:
    program = """
import sys, threading
from edgefaced.sinks.mqtt.conversation import Broker
from edgefaced.sinks.mqtt.sink import Habits, MqttSink
from edgefaced.sinks.mqtt.topics import Topics
MqttSink(Broker("127.0.0.1", int(sys.argv[1]), Topics("edgefaced", "door")), Habits(),
         stop=threading.Event())
threading.Event().wait()
"""
    daemon = subprocess.Popen([sys.executable, "-c", program, str(house.gate.port)])
    try:
        assert house.says(TOPICS.availability) == [b"online"]
    finally:
        daemon.kill()
        daemon.wait()
    assert house.says(TOPICS.availability, 2) == [b"online", b"offline"]


def test_events_have_a_topic_for_each_kind_and_only_states_are_retained(house: House) -> None:
    sink = house.sink()
    decision, camera = decisions(1)[0], Event(CameraChanged(False, "unplugged"), "door")
    sink.emit(decision)
    sink.emit(camera)
    (body,) = map(json.loads, house.says(f"{BASE}/event/face"))
    assert (body["type"], body["event_id"], body["id"]) == ("face", decision.id, ANN)
    assert body["name"] is None
    assert house.says(f"{BASE}/event/camera")
    with Subscriber(house.broker, f"{BASE}/event/+") as late:
        late.catch_up()
        kept = {message.topic: json.loads(message.payload) for message in late.heard}
    assert {topic: body["event_id"] for topic, body in kept.items()} == {
        f"{BASE}/event/camera": camera.id
    }


def test_home_assistant_is_told_and_told_again_when_it_comes_up(house: House) -> None:
    habits = Habits("homeassistant", standard_entities(TOPICS))
    house.sink(habits)
    last_person = "homeassistant/sensor/edgefaced_door/last_person/config"
    (config,) = map(json.loads, house.says(last_person))
    assert config["unique_id"] == "edgefaced_door_last_person"
    assert config["state_topic"] == f"{BASE}/event/face"
    assert config["availability_topic"] == TOPICS.availability
    house.ear.wait(lambda: house.ear.on("homeassistant/binary_sensor/edgefaced_door/daemon/config"))
    told = {m.topic: json.loads(m.payload) for m in house.ear.heard if m.topic.endswith("/config")}
    assert len({config["unique_id"] for config in told.values()}) == len(habits.entities) == 4
    assert len({json.dumps(config["device"]) for config in told.values()}) == 1
    house.ear.say("homeassistant/status", b"offline")
    house.ear.say("homeassistant/status", b"online")
    house.says(last_person, 2)
    with Subscriber(house.broker, last_person) as late:
        late.wait(lambda: late.heard)
        assert late.heard[0].retain


def test_commands_are_obeyed_while_it_listens_and_never_when_retained(house: House) -> None:
    obeyed: list[tuple[str, bytes]] = []
    refused: list[str] = []
    done = threading.Event()

    def obey(name: str, payload: bytes, fault: str) -> None:
        if fault:
            refused.append(fault)
            return
        obeyed.append((name, payload))
        if payload == b"last":
            done.set()

    house.ear.say(f"{BASE}/command/unlock", b"left behind", retain=True)
    sink = house.sink(Habits(obey=obey))
    house.says(TOPICS.availability)
    sink.emit(decisions(1)[0])
    house.ear.say(f"{BASE}/command/lockdown", b"on")
    house.ear.say(f"{BASE}/command/unlock", b"sent with the flag", retain=True)
    house.ear.say(f"{BASE}/command/unlock", b"x" * 5000)
    house.ear.say(f"{BASE}/command/lockdown", b"last")
    assert done.wait(60)
    assert obeyed == [("lockdown", b"on"), ("lockdown", b"last")]
    kept = "the broker had kept it"
    assert refused == [kept, "it is too long"], "and what was there before is not even sent"
    # After a connection is lost and made again, what is left there is not obeyed either.
    house.broker.stop()
    house.broker.start()
    wait_until(lambda: taken(sink, decisions(1)[0]))
    assert len(obeyed) == 2
    assert len(refused) == 2


def test_without_leave_nothing_is_subscribed_to(house: House) -> None:
    quiet, obeying = Topics("quiet", "door"), Topics("obeying", "door")
    house.sink(broker=replace(house.address, topics=quiet)).emit(decisions(1)[0])
    habits = Habits(obey=lambda name, payload, fault: None)
    house.sink(habits, replace(house.address, topics=obeying)).emit(decisions(1)[0])
    answers: list[str] = []
    client = house.ear.client
    client.on_publish = lambda client, data, number, code, _: answers.append(str(code))
    for topics in (quiet, obeying):
        house.ear.say(topics.command("lockdown"), b"on")
    assert answers == ["No matching subscribers", "Success"]


def test_a_broker_that_hangs_is_left_and_takes_it_later(house: House) -> None:
    sink = house.sink()
    first, second = decisions(2)
    sink.emit(first)
    house.broker.freeze()
    house.stop.set()  # the grace of a stop is shorter than the time for an acknowledgement
    with pytest.raises(SinkAway, match="does not acknowledge"):
        sink.emit(second)
    house.stop.clear()
    house.broker.thaw()
    wait_until(lambda: taken(sink, second))
    bodies = [json.loads(body) for body in house.says(f"{BASE}/event/face", 2)]
    assert list(dict.fromkeys(b["event_id"] for b in bodies)) == [first.id, second.id]


def test_two_devices_of_one_name_are_told_so(house: House) -> None:
    one = house.sink()
    wait_until(lambda: taken(one, decisions(1)[0]))
    other = house.sink()
    wait_until(lambda: taken(other, decisions(1)[0]))
    faults: list[str] = []

    def told() -> bool:
        for sink in (one, other):
            try:
                sink.emit(decisions(1)[0])
            except SinkAway as error:
                faults.append(error.message)
        return any("mqtt.node" in fault for fault in faults)

    wait_until(told, lambda: str(faults))


def test_nobody_at_the_address_is_said_with_the_address(house: House) -> None:
    house.gate.shut()
    sink = house.sink()
    with pytest.raises(SinkAway, match=f"127.0.0.1:{house.gate.port}: "):
        sink.emit(decisions(1)[0])
    unknown = house.sink(broker=Broker("no-such-host.invalid", 1883, TOPICS))
    with pytest.raises(SinkAway, match="no-such-host"):
        unknown.emit(decisions(1)[0])


def taken(sink: MqttSink, event: Event) -> bool:
    try:
        sink.emit(event)
    except SinkAway:
        return False
    return True
