"""One suite for every sink."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from happenings import ANN, ANNS_NAME, HAPPENINGS, decisions, events
from mosquitto import wait_until
from sink_rigs import RIGS, Rig, Wish, ids_in

from edgefaced.errors import EdgefacedError
from edgefaced.events import Event, Happening
from edgefaced.protocols import EventSink

NOT_TAKEN = (OSError, EdgefacedError)
"""All that `emit` may raise."""

Make = Callable[[Wish], AbstractContextManager[Rig]]


@pytest.fixture(params=RIGS, ids=lambda make: make.__name__)
def make(request: pytest.FixtureRequest) -> Make:
    made: Make = request.param
    return made


@pytest.fixture
def wish(tmp_path: Path) -> Wish:
    return Wish(tmp_path, threading.Event())


@pytest.fixture
def rig(make: Make, wish: Wish) -> Iterator[Rig]:
    with make(wish) as made:
        yield made
        made.sink.close()


def test_the_samples_are_of_everything_that_can_happen() -> None:
    assert {type(happening) for happening in HAPPENINGS} == set(get_args(Happening))


def test_events_arrive_once_and_in_order(rig: Rig) -> None:
    sent = decisions(20)
    for event in sent:
        rig.sink.emit(event)
    if rig.arrived is not None:
        assert ids_in(rig.arrived()) == [event.id for event in sent]


def test_whatever_happens_can_be_told(rig: Rig) -> None:
    sent = list(events())
    for event in sent:
        rig.sink.emit(event)
    if rig.arrived is not None:
        assert ids_in(rig.arrived()) == [event.id for event in sent]


def test_it_is_opened_used_and_closed_in_a_thread_of_its_own(make: Make, wish: Wish) -> None:
    sent, arrived, faults = decisions(3), list[str](), list[BaseException]()

    def deliver() -> None:
        try:
            with make(wish) as rig:
                for event in sent:
                    rig.sink.emit(event)
                arrived.extend(rig.arrived() if rig.arrived else ())
                rig.sink.close()
        except BaseException as error:  # noqa: BLE001 - it is raised below
            faults.append(error)

    thread = threading.Thread(target=deliver)
    thread.start()
    thread.join()
    for fault in faults:
        raise fault  # here, so that what this machine lacks is a skip
    if arrived:
        assert ids_in(arrived) == [event.id for event in sent]


def test_no_name_leaves_unless_it_is_asked_for(make: Make, wish: Wish) -> None:
    with make(wish) as rig:
        for event in events():
            rig.sink.emit(event)
        quiet = rig.arrived() if rig.arrived is not None else []
        rig.sink.close()
    assert not [text for text in quiet if "Ann a" in text]


def test_a_name_is_told_where_it_is_asked_for(make: Make, wish: Wish) -> None:
    with make(replace(wish, name_of={ANN: ANNS_NAME}.get)) as rig:
        rig.sink.emit(decisions(1)[0])
        told = rig.arrived() if rig.arrived is not None else []
        rig.sink.close()
    assert any("Ann a/b#+" in text for text in told) is (rig.knows_names and bool(told))


def test_what_is_away_takes_nothing_and_has_all_of_it_later_in_order(rig: Rig) -> None:
    if rig.far_end is None or rig.arrived is None:
        pytest.skip("nothing of it is ever away")
    first, second, third = decisions(3)
    rig.sink.emit(first)
    rig.far_end.go()
    for _ in range(2):
        with pytest.raises(NOT_TAKEN):
            rig.sink.emit(second)
    rig.far_end.come_back()
    emit_until_taken(rig.sink, second)
    emit_until_taken(rig.sink, third)
    arrived = ids_in(rig.arrived())
    assert without_repetitions(arrived) == [first.id, second.id, third.id]


def test_nobody_waits_for_what_is_away_when_all_stops(make: Make, wish: Wish) -> None:
    with make(wish) as rig:
        if rig.far_end is not None:
            rig.far_end.go()
            wish.stop.set()
            with pytest.raises(NOT_TAKEN):
                rig.sink.emit(decisions(1)[0])
        rig.sink.close()


def test_closing_twice_is_closing_once(rig: Rig) -> None:
    rig.sink.emit(decisions(1)[0])
    rig.sink.close()
    rig.sink.close()


def test_closing_without_an_event_leaves_nothing_behind(rig: Rig) -> None:
    """The fixture closes it and looks for threads and files."""


def emit_until_taken(sink: EventSink, event: Event) -> None:
    """As the delivering stage does it."""

    def taken() -> bool:
        try:
            sink.emit(event)
        except NOT_TAKEN:
            return False
        return True

    wait_until(taken)


def without_repetitions(ids: list[str]) -> list[str]:
    """The ids, of which one may come several times at once."""
    return [one for before, one in zip([None, *ids], ids, strict=False) if one != before]
