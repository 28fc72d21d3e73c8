"""Buttons for coming and going: each press once, faults told once, and an end at any time."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from edgefaced.config.places import Places
from edgefaced.config.settings import Settings
from edgefaced.errors import GpioError, GpioLost
from edgefaced.events import DirectionChosen, Happening, Trouble
from edgefaced.gpio.lines import Edge, InputLine
from edgefaced.outlets import buttons_of, sinks_of
from edgefaced.pipeline.buttons import BOUNCE_NS, Buttons
from edgefaced.pipeline.crew import Heartbeat
from edgefaced.types import Direction

DEADLINE = 60.0
MILLISECOND = 1_000_000


class Pushed:
    """A line that has these changes, then an error."""

    def __init__(self, *edges: tuple[bool, int]) -> None:
        self._edges: list[Edge] = [Edge(active, ms * MILLISECOND) for active, ms in edges]
        self._reader, writer = os.pipe()
        os.close(writer)  # readable at once, for ever

    @property
    def fd(self) -> int:
        return self._reader

    def level(self) -> bool:
        return False

    def wait(self, timeout: float) -> tuple[Edge, ...]:
        if not self._edges:
            raise GpioLost("unplugged")
        found, self._edges = tuple(self._edges), []
        return found

    def close(self) -> None:
        if self._reader >= 0:
            os.close(self._reader)
        self._reader = -1


@contextmanager
def running(
    buttons: Buttons, stop: threading.Event | None = None
) -> Iterator[queue.Queue[Happening]]:
    """What they announce, while they run; they end afterwards."""
    told: queue.Queue[Happening] = queue.Queue()
    buttons.connect(told.put, lambda: None, stop or threading.Event())
    thread = threading.Thread(target=buttons.run, args=(Heartbeat(),))
    thread.start()
    try:
        yield told
    finally:
        buttons.end()
        thread.join(DEADLINE)
        assert not thread.is_alive()


def opened(*steps: Callable[[], InputLine] | GpioError) -> Callable[[], InputLine]:
    """Opens these, one after another; then there is none any more."""
    script = iter(steps)

    def take() -> InputLine:
        step = next(script, GpioLost("no such line"))
        if isinstance(step, GpioError):
            raise step
        return step()

    return take


def quiet() -> InputLine:
    class Quiet(Pushed):
        def wait(self, timeout: float) -> tuple[Edge, ...]:
            return ()

    return Quiet()


def test_contacts_bounce_and_a_press_is_one() -> None:
    apart = BOUNCE_NS // MILLISECOND + 1
    changes = (True, 0), (False, 3), (True, 5), (False, 90), (True, 90 + apart)
    buttons = Buttons(
        {Direction.IN: opened(lambda: Pushed(*changes)), Direction.OUT: opened(quiet)},
        pause_seconds=0.0,
    )
    with running(buttons) as told:
        seen = [told.get(timeout=DEADLINE) for _ in range(3)]
    assert seen[:2] == [DirectionChosen(Direction.IN)] * 2
    assert isinstance(seen[2], Trouble)


def test_a_fault_is_told_once_and_the_end_of_it() -> None:
    buttons = Buttons(
        {
            Direction.IN: opened(*[GpioLost("no such chip")] * 3, lambda: Pushed((True, 0))),
            Direction.OUT: opened(quiet),
        },
        pause_seconds=0.0,
    )
    with running(buttons) as told:
        seen = [told.get(timeout=DEADLINE) for _ in range(4)]
    words = [h.detail if isinstance(h, Trouble) else h for h in seen]
    assert words == [
        "nobody can choose a direction: no such chip",
        "they answer again",
        DirectionChosen(Direction.IN),
        "nobody can choose a direction: unplugged",
    ]


def test_a_stop_ends_what_waits_for_a_line() -> None:
    stop = threading.Event()
    with running(Buttons({Direction.IN: opened()}, pause_seconds=1000.0), stop) as told:
        told.get(timeout=DEADLINE)
        stop.set()


def test_real_lines_by_the_configuration(tmp_path: Path) -> None:
    for line in ("in", "out"):
        (tmp_path / line).write_text("1\n")
    section = {
        "enabled": True,
        "mode": "button",
        "button_chip_kind": "file",
        "button_chip": str(tmp_path),
        "in_button_line": "in",
        "out_button_line": "out",
    }
    buttons = buttons_of(Settings.model_validate({"attendance": section}))
    assert buttons is not None
    with running(buttons) as told:
        # A change counts once the line is listened to; until then it is only a level.
        pressed: Happening | None = None
        for _ in range(1000):
            for level in ("1\n", "0\n"):
                (tmp_path / "out").write_text(level)
            try:
                pressed = told.get(timeout=0.05)
                break
            except queue.Empty:
                continue
    assert pressed == DirectionChosen(Direction.OUT)


@pytest.mark.parametrize(
    "changes", [{"enabled": False}, {"mode": "in"}, {"button_chip": None}], ids=str
)
def test_no_buttons_where_none_are_wanted(changes: dict[str, object]) -> None:
    section = {
        "enabled": True,
        "mode": "button",
        "button_chip": "x",
        "in_button_line": "a",
        "out_button_line": "b",
    } | changes
    if section["button_chip"] is None:
        section = {"enabled": True, "mode": "button"}
    assert buttons_of(Settings.model_validate({"attendance": section})) is None


@pytest.mark.parametrize("enabled", [True, False])
def test_the_clerk_is_there_where_it_is_enabled(tmp_path: Path, enabled: bool) -> None:
    settings = Settings.model_validate({"attendance": {"enabled": enabled}})
    places = Places(tmp_path / "c.toml", tmp_path, tmp_path)
    assert ("attendance" in sinks_of(settings, places, {}, threading.Event())) is enabled
