"""The motion sensor: it wakes at once, and where it fails nothing is lost but the haste."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from edgefaced.errors import DependencyMissing, GpioBusy, GpioError, GpioLost
from edgefaced.events import Happening, Trouble
from edgefaced.gpio.choose import open_input
from edgefaced.gpio.lines import Edge, InputLine
from edgefaced.pipeline.crew import Heartbeat
from edgefaced.pipeline.motion import LONGEST_SECONDS, MotionWatch

NO_PAUSE = (0.0, 0.0)
DEADLINE = 60.0


class ScriptedLine:
    """Gives one answer after another; an error is raised, a function called first."""

    def __init__(self, steps: Iterator[tuple[Edge, ...] | GpioError], active: bool) -> None:
        self._steps, self._active = steps, active
        self.closed = False

    @property
    def fd(self) -> int:
        return -1

    def level(self) -> bool:
        return self._active

    def wait(self, timeout: float) -> tuple[Edge, ...]:
        step = next(self._steps)
        if isinstance(step, GpioError):
            raise step
        return step

    def close(self) -> None:
        self.closed = True


class Stand:
    """A watch on scripted lines, run until the script is over."""

    def __init__(self, *openings: Callable[[], InputLine]) -> None:
        self.stop = threading.Event()
        self.told: list[Happening] = []
        script = iter(openings)

        def take() -> InputLine:
            try:
                return next(script)()
            except StopIteration:
                self.stop.set()
                raise GpioLost("the script is over") from None

        self.watch = MotionWatch(take, self.told.append, self.stop, pauses=NO_PAUSE)
        self.heartbeat = Heartbeat()

    def run(self) -> None:
        self.watch.run(self.heartbeat)

    def troubles(self) -> list[str]:
        return [t.detail for t in self.told if isinstance(t, Trouble)]


def line(*steps: tuple[Edge, ...] | GpioError, active: bool = False) -> Callable[[], InputLine]:
    """A line that answers so and is then lost."""
    return lambda: ScriptedLine(iter((*steps, GpioLost("unplugged"))), active)


def refuse(error: GpioError | DependencyMissing) -> Callable[[], InputLine]:
    def take() -> InputLine:
        raise error

    return take


def at(seconds: float, *, active: bool = True) -> tuple[Edge, ...]:
    return (Edge(active, round(seconds * 1e9)),)


def test_motion_is_noticed_once_when_it_is_over() -> None:
    stand = Stand(line(at(5), at(6, active=False)))
    assert not stand.watch.moved(4)
    stand.run()
    assert stand.watch.motions == 1
    assert stand.watch.moved(7)
    assert not stand.watch.moved(7)


def test_a_line_that_is_active_from_the_start_is_motion() -> None:
    stand = Stand(line(active=True))
    stand.run()
    assert stand.watch.motions == 1
    assert stand.watch.moved(time.monotonic())


@pytest.mark.parametrize(
    "error",
    [
        GpioLost("no GPIO chip 'pins'"),
        GpioBusy("take the line", "held by gpio-keys"),
        DependencyMissing("GPIO needs libgpiod"),
    ],
)
def test_a_line_that_cannot_be_had_is_said_once_and_tried_again(
    error: GpioError | DependencyMissing,
) -> None:
    stand = Stand(*(refuse(error) for _ in range(5)), line(at(1)))
    stand.run()
    first, *rest = stand.troubles()
    assert error.message in first
    assert "decides alone" in first
    assert rest[0] == "answers again"
    assert len(rest) == 2, "and once more when it is lost"
    assert stand.watch.motions == 1


def test_a_line_that_is_lost_is_no_motion() -> None:
    stand = Stand(line(at(5)))
    stand.run()
    assert stand.watch.up is False
    assert stand.watch.moved(5), "it did begin"
    assert not stand.watch.moved(5), "and is not taken to go on"


@pytest.fixture
def pins(tmp_path: Path) -> Path:
    (tmp_path / "pir").write_text("0\n")
    return tmp_path


def eventually(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE
    while not holds():
        assert time.monotonic() < deadline
        threading.Event().wait(0.005)


def test_a_real_line_for_as_long_as_it_is_active_but_not_for_ever(pins: Path) -> None:
    watch = MotionWatch(
        lambda: open_input("file", str(pins), "pir"), lambda _: None, threading.Event()
    )
    thread = threading.Thread(target=watch.run, args=(Heartbeat(),))
    thread.start()
    try:
        eventually(lambda: watch.up is True)
        assert not watch.moved(time.monotonic())
        (pins / "pir").write_text("1\n")
        eventually(lambda: watch.motions == 1)
        now = time.monotonic()
        assert all(watch.moved(now) for _ in range(3))
        assert not watch.moved(now + LONGEST_SECONDS + 1)
        (pins / "pir").write_text("0\n")
        eventually(lambda: not watch.moved(time.monotonic()))
    finally:
        watch.end()
        thread.join(DEADLINE)
    assert not thread.is_alive()


def test_it_ends_while_it_waits_for_a_line(pins: Path) -> None:
    stop = threading.Event()
    watch = MotionWatch(
        lambda: open_input("file", str(pins), "nothing"), lambda _: None, stop, pauses=(1000, 1000)
    )
    heartbeat = Heartbeat()
    thread = threading.Thread(target=watch.run, args=(heartbeat,))
    thread.start()
    eventually(lambda: heartbeat.beats > 2)
    stop.set()
    thread.join(DEADLINE)
    assert not thread.is_alive()
