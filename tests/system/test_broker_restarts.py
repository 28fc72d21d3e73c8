"""A broker that dies fifty times while two thousand events go from the ledger to it."""

from __future__ import annotations

import json
import random
import signal
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

from gate import Gate
from mosquitto import Mosquitto, Subscriber, mosquitto, wait_until

from edgefaced.events import Trouble
from edgefaced.ledger.retention import Keep, Retention
from edgefaced.ledger.store import Ledger
from edgefaced.pipeline.crew import Crew
from edgefaced.pipeline.deliveries import Deliveries
from edgefaced.pipeline.recorder import Backlog, Recording
from edgefaced.protocols import Delivery, EventSink, SinkPlan
from edgefaced.sinks.mqtt.conversation import Broker
from edgefaced.sinks.mqtt.sink import Habits, MqttSink
from edgefaced.sinks.mqtt.topics import Topics

DEATHS = 50
EVENTS_A_LIFE = 40
TOPICS = Topics("edgefaced", "door")
KEEP_ALL = Retention(Keep(None, None), {}, 1_000_000_000)


class Ears:
    """What the lives of a broker sent to one who listens.

    The way to the broker is open only while its listener is there, so that whatever a broker
    acknowledges it has sent on: what it had taken and nobody heard would die with it.
    """

    def __init__(self, broker: Mosquitto, gate: Gate, stack: ExitStack) -> None:
        self._broker, self._gate, self._stack = broker, gate, stack
        self._ears: list[Subscriber] = []
        self.listen()

    def listen(self) -> None:
        ear = Subscriber(self._broker, f"{TOPICS.base}/event/+")
        self._ears.append(self._stack.enter_context(ear))
        self._gate.open()

    def kill(self) -> None:
        self._gate.shut()
        self._broker.stop(signal.SIGKILL)
        self._ears[-1].drain()

    def heard(self) -> list[dict[str, object]]:
        return [json.loads(message.payload) for ear in self._ears for message in ear.heard]

    def distinct(self) -> int:
        return len({body["event_id"] for body in self.heard()})

    def wait_for_more(self, count: int) -> None:
        """Until so many messages came in this life."""
        ear = self._ears[-1]
        ear.wait(lambda: len(ear.heard) >= count)


def test_no_event_is_lost_or_out_of_order_and_repetitions_have_the_same_id(tmp_path: Path) -> None:
    chance = random.Random(4)
    path = tmp_path / "events.db"

    def open_ledger() -> Ledger:
        return Ledger.open(path, create=True)

    crew = Crew()
    with (
        mosquitto(tmp_path / "broker") as broker,
        Gate(broker.socket) as gate,
        ExitStack() as stack,
    ):
        ears = Ears(broker, gate, stack)

        def open_sink() -> EventSink:
            where = Broker("127.0.0.1", gate.port, TOPICS)
            return MqttSink(where, Habits(), stop=crew.stop, pauses=(0.05, 0.2))

        deliveries = Deliveries(
            "door",
            {"mqtt": SinkPlan(open_sink, Delivery.LASTING)},
            Recording(open_ledger, KEEP_ALL, Backlog()),
            crew,
        )
        crew.start()
        try:
            for life in range(DEATHS):
                for number in range(EVENTS_A_LIFE):
                    happening = Trouble("test", str(life * EVENTS_A_LIFE + number))
                    deliveries.postbox.announce(happening)
                # In the middle of what it has to take, at another place each time.
                behind = (life + 1) * EVENTS_A_LIFE - ears.distinct()
                ears.wait_for_more(min(chance.randint(1, 2 * EVENTS_A_LIFE), behind))
                ears.kill()
                broker.start()
                ears.listen()
            wait_until(lambda: delivered(deliveries), lambda: str(deliveries.counts()))
        finally:
            deliveries.close()
            crew.join(30)
        assert not crew.failures
        ears.kill()
        heard = ears.heard()
    with open_ledger() as ledger:
        recorded = everything_in(ledger)
    ids = [body["event_id"] for body in heard]
    once = [one for before, one in pairwise([None, *ids]) if one != before]
    assert once == recorded, "each event, in order; a repetition comes at once, with its id"
    numbers = [body["detail"] for body in heard if body["where"] == "test"]
    assert list(dict.fromkeys(numbers)) == [str(n) for n in range(DEATHS * EVENTS_A_LIFE)]


def delivered(deliveries: Deliveries) -> bool:
    """Whether all that was announced is recorded and taken."""
    counts = deliveries.counts()["mqtt"]
    inbox = deliveries.postbox.inbox
    return inbox is not None and not len(inbox) and not counts.waiting and not counts.fault


def everything_in(ledger: Ledger) -> list[str]:
    found: list[str] = []
    position = 0
    while records := ledger.after(position):
        found += [record.event.id for record in records]
        position = records[-1].position
    return found
