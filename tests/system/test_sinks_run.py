"""A daemon with every lasting sink at once, and one whose receiver comes back after a restart."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from coloured import ANN, Cast, scene
from gate import Gate
from mosquitto import Subscriber, mosquitto, wait_until
from plugged_camera import Machine
from receiver import receiving
from staged_daemon import Staged

from edgefaced.config.settings import Settings
from edgefaced.events import DecisionMade, Happening, Trouble
from edgefaced.ledger.store import Ledger
from edgefaced.protocols import Delivery
from edgefaced.types import U8

KEY = "whsec_" + "A" * 43 + "="


def key_file(folder: Path) -> str:
    path = folder / "webhook.key"
    path.touch(0o600)
    path.write_text(KEY)
    return str(path)


def recorded(staged: Staged) -> list[str]:
    with Ledger.open(staged.places.events_file) as ledger:
        return [record.event.id for record in ledger.after(0, 10_000)]


def ann(number: int) -> U8:
    return scene((ANN, 50), sequence=number)


def is_decision(happening: Happening) -> bool:
    return isinstance(happening, DecisionMade)


def ids(documents: list[bytes]) -> list[str]:
    """Ids in order, a repetition left out."""
    return list(dict.fromkeys(str(json.loads(document)["event_id"]) for document in documents))


def test_all_of_them_get_every_event_in_order(tmp_path: Path) -> None:
    lines, taken = tmp_path / "events.jsonl", tmp_path / "taken"
    take = tmp_path / "take"
    take.write_text(f'#!/bin/sh\ncat >> "{taken}"\n')
    take.chmod(0o755)
    with (
        mosquitto(tmp_path / "broker") as broker,
        Gate(broker.socket) as gate,
        Subscriber(broker, "edgefaced/#", "homeassistant/#") as ear,
        receiving() as server,
    ):
        gate.open()
        settings = Settings.model_validate(
            {
                "mqtt": {"host": "127.0.0.1", "port": gate.port, "tls": False, "node": "door"},
                "webhook": {"url": f"{server.url}/hook", "key_file": key_file(tmp_path)},
                "command": {"argv": [str(take)]},
                "lines": {"path": str(lines)},
            }
        )
        machine = Machine(tmp_path / "machine")
        staged = Staged(tmp_path, lambda s: Cast(machine.open), settings=settings)

        def arrived() -> dict[str, list[str]]:
            heard = [m.payload for m in ear.heard if m.topic.startswith("edgefaced/door/event/")]
            return {
                "mqtt": ids(heard),
                "webhook": ids([got.body for got in server.taken]),
                "command": ids(content(taken)),
                "lines": ids(content(lines)),
            }

        def scenario() -> None:
            staged.sink.until(is_decision)
            (decision, *_) = (e for e in staged.sink.events if is_decision(e.happening))
            wait_until(
                lambda: all(decision.id in found for found in arrived().values()),
                lambda: str(arrived()),
            )

        with machine.showing(ann):
            staged.play(scenario)
        ear.wait(lambda: b"stopped" in ear.on("edgefaced/door/availability"))
        ear.catch_up()
        everything = recorded(staged)
        for name, found in arrived().items():
            assert found == everything[: len(found)], name
        counts = staged.daemon.line.deliveries.counts()
        lasting = {name for name, count in counts.items() if count.delivery is Delivery.LASTING}
        assert lasting == {"mqtt", "webhook", "command", "lines"}
        assert ear.on("homeassistant/sensor/edgefaced_door/last_person/config")


def content(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines() if path.exists() else []


def test_what_a_receiver_missed_it_gets_after_a_restart(tmp_path: Path) -> None:
    with receiving() as server:
        settings = Settings.model_validate(
            {"webhook": {"url": f"{server.url}/hook", "key_file": key_file(tmp_path)}}
        )
        machine = Machine(tmp_path / "machine")
        server.away = True

        def run(scenario: Callable[[Staged], None]) -> Staged:
            staged = Staged(tmp_path, lambda s: Cast(machine.open), settings=settings)
            with machine.showing(ann):
                staged.play(lambda: scenario(staged))
            return staged

        def nobody_there(staged: Staged) -> None:
            staged.sink.until(is_decision)
            staged.sink.until(lambda h: isinstance(h, Trouble) and h.where == "webhook")

        first = run(nobody_there)
        assert server.taken == []
        missed = recorded(first)
        server.away = False
        run(lambda staged: wait_until(lambda: len(server.taken) >= len(missed)))
        got = ids([got.body for got in server.taken])
        assert got[: len(missed)] == missed
        assert all_signed(server.taken)


def test_a_file_that_is_missing_keeps_no_door_shut(tmp_path: Path) -> None:
    """It is told, and taken as soon as it is there."""
    with receiving() as server:
        key = tmp_path / "webhook.key"
        settings = Settings.model_validate(
            {"webhook": {"url": f"{server.url}/hook", "key_file": str(key)}}
        )
        machine = Machine(tmp_path / "machine")
        staged = Staged(tmp_path, lambda s: Cast(machine.open), settings=settings)

        def scenario() -> None:
            trouble = staged.sink.until(lambda h: isinstance(h, Trouble) and h.where == "webhook")
            assert isinstance(trouble, Trouble)
            assert str(key) in trouble.detail
            staged.sink.until(is_decision)
            draft = tmp_path / "draft"
            draft.touch(0o600)
            draft.write_text(KEY)
            draft.replace(key)
            wait_until(lambda: bool(server.taken))

        with machine.showing(ann):
            staged.play(scenario)


def all_signed(taken: list[Any]) -> bool:
    return all(got.headers["webhook-signature"].startswith("v1,") for got in taken)
