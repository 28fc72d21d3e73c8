"""Doors by MQTT: which orders are obeyed, and what Home Assistant is told of doors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from edgefaced.config.doors import DoorSection
from edgefaced.doors.house import House
from edgefaced.errors import EdgefacedError, Refused
from edgefaced.events import DoorState
from edgefaced.sinks.mqtt.discovery import Entity
from edgefaced.sinks.mqtt.sink import Obey
from edgefaced.sinks.mqtt.topics import Topics

BY = "by MQTT"
LONGEST_TOLD = 300
OPEN = (DoorState.OPENED, DoorState.FORCED, DoorState.HELD_OPEN)


def obedience_of(house: House) -> Obey:
    """Obeys "lockdown" and "normal", for the doors that the payload names or for all of them.

    Nothing unlocks a door by MQTT: who may publish on a broker is not known here. For that reason
    "normal" ends no lockdown but those that came by MQTT.
    """
    orders = {"lockdown": house.lockdown, "normal": house.normal}
    told = False

    def obey(name: str, payload: bytes, fault: str) -> None:
        nonlocal told
        try:
            if fault:
                raise Refused(f"not obeyed: {fault}")
            if name not in orders:
                raise Refused("not obeyed: there are " + ", ".join(orders))
            orders[name](payload.decode(errors="replace").split(), BY, remote=True)
        except EdgefacedError as error:
            # Once in a row: a flood of nonsense must not fill the ledger.
            if not told:
                house.say(f"{name} {BY}: {error.message}"[:LONGEST_TOLD])
            told = True
        else:
            told = False

    return obey


def entities_of(
    topics: Topics, doors: Mapping[str, DoorSection], *, orders: bool
) -> Sequence[Entity]:
    """Every door's last change and whether it is open; buttons where `orders` are obeyed."""
    found = []
    for name, door in doors.items():
        found.append(_state(topics, name))
        if door.contact_line is not None:
            found.append(_contact(topics, name))
        if orders:
            found += [_button(topics, name, order) for order in ("lockdown", "normal")]
    return found


def _state(topics: Topics, door: str) -> Entity:
    return Entity(
        "sensor",
        f"door_{door}",
        {
            "name": f"Door {door}",
            "icon": "mdi:door",
            "device_class": "enum",
            "options": [state.value for state in DoorState],
            "state_topic": topics.event("door"),
            "value_template": _of(door, "{{ value_json.state }}", "{{ this.state }}"),
        },
    )


def _contact(topics: Topics, door: str) -> Entity:
    opened, closed = ", ".join(f"'{state.value}'" for state in OPEN), DoorState.CLOSED.value
    known = (
        f"{{% if value_json.state in [{opened}] %}}ON"
        f"{{% elif value_json.state == '{closed}' %}}OFF"
        "{% else %}{{ this.state | upper }}{% endif %}"
    )
    return Entity(
        "binary_sensor",
        f"door_{door}_contact",
        {
            "name": f"Door {door} contact",
            "device_class": "door",
            "state_topic": topics.event("door"),
            "value_template": _of(door, known, "{{ this.state | upper }}"),
        },
    )


def _button(topics: Topics, door: str, order: str) -> Entity:
    return Entity(
        "button",
        f"door_{door}_{order}",
        {
            "name": f"Door {door} {order}",
            "icon": "mdi:lock-alert" if order == "lockdown" else "mdi:lock-check",
            "command_topic": topics.command(order),
            "payload_press": door,
        },
    )


def _of(door: str, then: str, otherwise: str) -> str:
    """A template that looks at this door only; the topic is that of all doors."""
    return f"{{% if value_json.door == '{door}' %}}{then}{{% else %}}{otherwise}{{% endif %}}"
