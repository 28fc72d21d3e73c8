"""Orders to doors by a real broker, and what Home Assistant is told of doors."""

from __future__ import annotations

import json
import threading
from contextlib import closing
from pathlib import Path

from door_rigs import Rig, settings
from gate import Gate
from mosquitto import Subscriber, mosquitto, wait_until

from edgefaced.doors.by_mqtt import entities_of, obedience_of
from edgefaced.events import DoorChanged, DoorState, Trouble
from edgefaced.sinks.mqtt.conversation import Broker
from edgefaced.sinks.mqtt.discovery import announcements, standard_entities
from edgefaced.sinks.mqtt.sink import Habits, MqttSink
from edgefaced.sinks.mqtt.topics import Topics

TOPICS = Topics("edgefaced", "hall")


def two_doors(folder: Path) -> Rig:
    return Rig(settings(doors={"front": {}, "back": {"contact_line": "c", "chip": "x"}}), folder)


def states(rig: Rig) -> list[tuple[str, DoorState, str]]:
    return [(h.door, h.state, h.cause) for h in rig.told if isinstance(h, DoorChanged)]


def test_a_lockdown_comes_and_goes_by_mqtt_and_nothing_is_unlocked(tmp_path: Path) -> None:
    rig = two_doors(tmp_path / "book")
    with (
        mosquitto(tmp_path) as broker,
        Gate(broker.socket) as gate,
        Subscriber(broker, TOPICS.availability) as operator,
    ):
        gate.open()
        habits = Habits(obey=obedience_of(rig.house))
        address = Broker("127.0.0.1", gate.port, TOPICS)
        with closing(MqttSink(address, habits, stop=threading.Event())):
            operator.wait(lambda: operator.heard)

            def obeys() -> bool:
                """It says that it is there before the broker sends it orders."""
                operator.say(TOPICS.command("lockdown"), b"attic")
                return bool(rig.told)

            wait_until(obeys)
            for order, payload in (
                ("unlock", b"front"),
                ("open", b"front"),
                ("hold", b"front"),
                ("lockdown", b"cellar"),
                ("lockdown", b"\xff\xfe"),
                ("lockdown", b"front"),
                ("normal", b"front"),
                ("lockdown", b""),
            ):
                operator.say(TOPICS.command(order), payload)
            wait_until(lambda: len(states(rig)) >= 4, lambda: str(rig.told))
    assert states(rig) == [
        ("front", DoorState.LOCKDOWN, "by MQTT"),
        ("front", DoorState.NORMAL, "by MQTT"),
        ("front", DoorState.LOCKDOWN, "by MQTT"),
        ("back", DoorState.LOCKDOWN, "by MQTT"),
    ]
    (trouble,) = [h.detail for h in rig.told if isinstance(h, Trouble)]
    assert "attic" in trouble, "a row of nonsense is told once"


def test_nonsense_is_told_once_in_a_row_and_in_short(tmp_path: Path) -> None:
    rig = two_doors(tmp_path / "book")
    obey = obedience_of(rig.house)
    for payload in (b"x" * 4000, b"cellar", b"front", b"attic"):
        obey("lockdown", payload, "")
    long, attic = [h.detail for h in rig.told if isinstance(h, Trouble)]
    assert len(long) < 400
    assert "attic" in attic


def test_every_door_is_shown_and_can_be_shut_where_orders_are_obeyed(tmp_path: Path) -> None:
    doors = two_doors(tmp_path / "book").config.doors
    for orders, buttons in ((False, 0), (True, 4)):
        entities = (*standard_entities(TOPICS), *entities_of(TOPICS, doors, orders=orders))
        told = announcements("homeassistant", TOPICS, entities)
        configs = [json.loads(message.payload) for message in told]
        assert len({config["unique_id"] for config in configs}) == len(configs) == 7 + buttons
        assert len({message.topic for message in told}) == len(told)
        pressed = {config["command_topic"] for config in configs if "command_topic" in config}
        assert pressed <= {TOPICS.command("lockdown"), TOPICS.command("normal")}
    contact = next(c for c in configs if c["unique_id"].endswith("door_back_contact"))
    assert "value_json.door == 'back'" in contact["value_template"]
