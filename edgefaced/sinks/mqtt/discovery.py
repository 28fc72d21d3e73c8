"""What Home Assistant is told, so that it finds the device and what it can show of it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from edgefaced import __version__
from edgefaced.sinks.mqtt.topics import Message, Topics

BIRTH = b"online"
"""What Home Assistant says on `homeassistant/status` when it has come up."""
CONNECTIVITY = {"device_class": "connectivity", "entity_category": "diagnostic"}
# "stopped" is of ours; Home Assistant knows two words.
AVAILABILITY = "{{ 'online' if value == 'online' else 'offline' }}"
SOMEBODY = (
    "{{ (value_json.name or value_json.id) if value_json.outcome == 'known'"
    " else this.state | default('unknown') }}"
)


@dataclass(frozen=True, slots=True)
class Entity:
    """One thing to show: `object_id` names it within the device, `config` is what it adds.

    `always` keeps it available while the device is not.
    """

    component: str
    object_id: str
    config: dict[str, Any]
    always: bool = False


def standard_entities(topics: Topics) -> tuple[Entity, ...]:
    """What every device has."""
    face = topics.event("face")
    return (
        Entity(
            "sensor",
            "last_person",
            {
                "name": "Last person",
                "icon": "mdi:account",
                "state_topic": face,
                "value_template": SOMEBODY,
            },
        ),
        Entity(
            "sensor",
            "last_decision",
            {
                "name": "Last decision",
                "icon": "mdi:face-recognition",
                "device_class": "enum",
                "options": ["known", "unknown", "spoof", "too-poor"],
                "state_topic": face,
                "value_template": "{{ value_json.outcome }}",
            },
        ),
        Entity(
            "binary_sensor",
            "camera",
            {
                "name": "Camera",
                "state_topic": topics.event("camera"),
                "value_template": "{{ 'ON' if value_json.up else 'OFF' }}",
                **CONNECTIVITY,
            },
        ),
        Entity(
            "binary_sensor",
            "daemon",
            {
                "name": "Daemon",
                "state_topic": topics.availability,
                "value_template": "{{ 'ON' if value == 'online' else 'OFF' }}",
                **CONNECTIVITY,
            },
            always=True,
        ),
    )


def status_topic(discovery_prefix: str) -> str:
    """Where Home Assistant says that it has come up."""
    return f"{discovery_prefix}/status"


def announcements(
    discovery_prefix: str, topics: Topics, entities: Iterable[Entity]
) -> tuple[Message, ...]:
    """The retained messages that make the entities known."""
    return tuple(_announcement(discovery_prefix, topics, entity) for entity in entities)


def _announcement(discovery_prefix: str, topics: Topics, entity: Entity) -> Message:
    # A prefix of several levels, and two prefixes on one broker, still give ids of their own.
    node = topics.base.replace("/", "_")
    known = {
        "unique_id": f"{node}_{entity.object_id}",
        "object_id": f"{node}_{entity.object_id}",
        "qos": 1,
        "device": {
            "identifiers": [node],
            "name": f"edgefaced {topics.node}",
            "manufacturer": "edgefaced",
            "model": "Face recognition at the door",
            "sw_version": __version__,
        },
        "origin": {"name": "edgefaced", "sw_version": __version__},
    }
    if not entity.always:
        known |= {
            "availability_topic": topics.availability,
            "availability_template": AVAILABILITY,
        }
    return Message(
        f"{discovery_prefix}/{entity.component}/{node}/{entity.object_id}/config",
        json.dumps(known | entity.config, separators=(",", ":")).encode(),
        retain=True,
    )
