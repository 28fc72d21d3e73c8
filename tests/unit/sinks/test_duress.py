"""A duress alarm reaches whoever it is configured for, and nobody who may stand at the door."""

from __future__ import annotations

import json
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from edgefaced.checkup import check
from edgefaced.cli.context import CliContext
from edgefaced.cli.run import TerminalSink
from edgefaced.config.places import Places
from edgefaced.config.settings import Settings
from edgefaced.control.commands import Commands
from edgefaced.control.contract import EventsRequest
from edgefaced.control.hub import EventHub
from edgefaced.control.peer import Access, Peer
from edgefaced.control.snapshots import Pictures
from edgefaced.events import AccessDecided, Event
from edgefaced.protocols import SinkPlan
from edgefaced.sinks.choose import chosen_sinks
from edgefaced.sinks.journal import entry
from edgefaced.sinks.names import GalleryNames
from edgefaced.sinks.shape import discreet

ALARM = Event(AccessDecided("front", True, "allowed", "ann", 7, duress=True), "door")
ORDINARY = replace(ALARM, happening=AccessDecided("front", True, "allowed", "ann", 7))


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path / "edgefaced.toml", tmp_path / "state", tmp_path / "models")


def test_nothing_shows_that_something_is_missing() -> None:
    assert discreet(ALARM) == ORDINARY
    assert discreet(ORDINARY) is ORDINARY
    assert entry(ALARM) == entry(ORDINARY), "field by field, and its priority"


@pytest.mark.parametrize("told", [False, True])
def test_a_receiver_is_told_where_its_section_says_so(
    places: Places, tmp_path: Path, told: bool
) -> None:
    path = tmp_path / "events.jsonl"
    section = {"path": str(path)} | ({"duress": True} if told else {})
    settings = Settings.model_validate({"lines": section})
    plan = chosen_sinks(settings, places, threading.Event())["lines"]
    assert isinstance(plan, SinkPlan)
    with closing(plan.open()) as sink:
        sink.emit(ALARM)
        sink.emit(ORDINARY)
    assert [json.loads(line)["duress"] for line in path.read_text().splitlines()] == [told, False]


@pytest.mark.parametrize(("access", "told"), [(Access.READ, False), (Access.FULL, True)])
def test_at_the_control_socket_it_is_for_who_may_do_everything(
    places: Places, access: Access, told: bool
) -> None:
    def nobody(*_: object) -> object:
        raise AssertionError("not asked here")

    hub = EventHub()
    commands = Commands(
        nobody,  # type: ignore[arg-type]  # never called
        lambda: None,
        hub,
        lambda: GalleryNames(places.gallery_file, places.key_file),
        nobody,  # type: ignore[arg-type]  # never called
        Pictures(lambda: False, lambda _: None, lambda _: None),
    )
    request = EventsRequest(contract_version=1, command="events")
    answers = commands.answer(request, access, Peer(1, 1, frozenset()))
    with closing(answers):
        assert next(answers) is not None
        hub.emit(ALARM)
        hub.emit(ORDINARY)
        first, second = next(answers), next(answers)
        assert first is not None
        assert second is not None
    assert (first["duress"], second["duress"]) == (told, False)


@pytest.mark.parametrize("as_json", [False, True])
def test_the_terminal_shows_nothing(
    as_json: bool, capsys: pytest.CaptureFixture[str], places: Places
) -> None:
    with closing(TerminalSink(CliContext(places), as_json=as_json, named=False)) as sink:
        sink.emit(ALARM)
        sink.emit(ORDINARY)
    first, second = capsys.readouterr().out.splitlines()
    assert first == second


def test_who_has_doors_hears_that_nobody_is_told(places: Places) -> None:
    def said(**sections: object) -> list[str]:
        settings = Settings.model_validate({"doors": {"front": {}}, **sections})
        return [caution.message for caution in check(settings, places)]

    assert any("duress" in line for line in said())
    assert not any("duress" in line for line in said(lines={"path": "/x/y", "duress": True}))
