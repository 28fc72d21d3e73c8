"""Every lease comes back; the camera may be busy, silent, frozen or gone, and returns."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest
from scripted_camera import ScriptedCamera, Step, picture

from edgefaced.core.thermal import BANDS, Cause, Pace
from edgefaced.errors import CameraBusy, CameraError, CameraLost
from edgefaced.events import CameraChanged, Happening
from edgefaced.pipeline import capture
from edgefaced.pipeline.capture import Capturer
from edgefaced.pipeline.crew import Heartbeat
from edgefaced.pipeline.figures import Figures
from edgefaced.pipeline.handoff import LatestSlot
from edgefaced.pipeline.pace import PaceBoard
from edgefaced.protocols import Camera, FrameLease


class Bench:
    """A capturer, the scripts its cameras play one after the other, and what became of it."""

    def __init__(self, *scripts: list[Step] | Exception) -> None:
        self.ledger: list[str] = []
        self.events: list[CameraChanged] = []
        self.figures = Figures()
        self.slot: LatestSlot[FrameLease] = LatestSlot()
        self.pace = PaceBoard()
        self.stop = threading.Event()
        self.heartbeat = Heartbeat()
        *others, last = scripts
        # Nobody reads the slot here, so the last script says when it is over.
        final = [*last, self.stop.set] if isinstance(last, list) else last
        self._scripts: Iterator[list[Step] | Exception] = iter([*others, final])
        self.capturer = Capturer(
            self._open,
            self.slot,
            self._announce,
            pace=self.pace,
            figures=self.figures,
            stop=self.stop,
            pauses=(0.0, 0.0),
        )

    def _open(self) -> Camera:
        script = next(self._scripts)
        if isinstance(script, Exception):
            raise script
        return ScriptedCamera(iter(script), self.ledger)

    def _announce(self, happening: Happening) -> None:
        assert isinstance(happening, CameraChanged)
        self.events.append(happening)

    def run(self) -> None:
        try:
            self.capturer.run(self.heartbeat)
        finally:
            self.capturer.finish()
        assert self.ledger.count("lent") == self.ledger.count("back")

    @property
    def ups(self) -> list[bool]:
        return [event.up for event in self.events]


def test_the_newest_frame_waits_and_the_others_are_given_back() -> None:
    bench = Bench([picture(1), picture(2), picture(3)])
    bench.run()
    assert bench.figures.frames == {"captured": 3, "displaced": 2}
    assert bench.ups == [True]
    assert bench.capturer.first_frame.is_set()
    assert bench.heartbeat.beats >= 3
    assert "scripted: 64x48 BGR at 30 frames a second" in bench.events[0].detail


def test_a_stride_gives_frames_back_untouched() -> None:
    bench = Bench([picture(n) for n in range(9)])
    bench.pace.current = Pace(BANDS[2], 2, Cause.HEAT, stepped=True)  # every fourth frame
    bench.run()
    assert bench.figures.frames["stride"] == 7
    resting = Bench([picture(n) for n in range(5)])
    resting.pace.current = Pace(BANDS[-1], 4, Cause.HEAT, stepped=True)
    resting.run()
    assert resting.figures.frames["rest"] == 5


def test_a_camera_that_vanishes_returns() -> None:
    bench = Bench(
        [picture(1), CameraLost("unplugged")],
        CameraBusy("somebody has it"),
        CameraLost("no such node"),
        [picture(2)],
    )
    bench.run()
    assert bench.ups == [True, False, True]
    assert "unplugged" in bench.events[1].detail
    assert bench.figures.camera_restarts == 3
    assert bench.ledger.count("closed") == 2


def test_a_camera_that_is_absent_at_the_start_is_said_once() -> None:
    bench = Bench(*[CameraLost("no such node")] * 3, [picture(1)])
    bench.run()
    assert bench.ups == [False, True]


def test_a_silent_camera_is_opened_again() -> None:
    bench = Bench([picture(1), *[None] * capture.SILENT_ROUNDS], [picture(2)])
    bench.run()
    assert bench.ups == [True, False, True]
    assert "no frame for 3 s" in bench.events[1].detail


def test_short_silence_is_no_fault() -> None:
    quiet: list[Step] = [None] * (capture.SILENT_ROUNDS - 1)
    bench = Bench([picture(1), *quiet, picture(2), *quiet, picture(3)])
    bench.run()
    assert bench.ups == [True]


def test_a_frozen_camera_is_opened_again_but_a_covered_lens_is_not() -> None:
    frozen: list[Step] = [picture(1)] * (capture.FROZEN_FRAMES + 2)
    bench = Bench([*frozen], [picture(2)])
    bench.run()
    assert "frozen" in bench.events[1].detail
    black: list[Step] = [np.zeros((48, 64, 3), np.uint8)] * (capture.FROZEN_FRAMES * 2)
    covered = Bench(black)
    covered.run()
    assert covered.ups == [True]


def test_an_unforeseen_error_is_not_swallowed() -> None:
    bench = Bench([picture(1), ZeroDivisionError()])
    with pytest.raises(ZeroDivisionError):
        bench.run()


def test_a_stop_ends_it_in_the_middle_of_a_pause() -> None:
    bench = Bench(*[CameraError("broken")] * 2)
    bench.capturer = Capturer(
        lambda: (_ for _ in ()).throw(CameraError("broken")),
        bench.slot,
        lambda happening: bench.stop.set(),
        pace=bench.pace,
        figures=bench.figures,
        stop=bench.stop,
        pauses=(3600.0, 3600.0),
    )
    bench.run()
    assert not bench.figures.camera_up


def test_a_frame_still_being_read_is_waited_for_before_the_camera_closes() -> None:
    held: list[FrameLease] = []

    def reader_takes() -> None:
        lease = bench.slot.take(0)
        assert lease is not None
        held.append(lease)
        threading.Timer(0.05, lease.release).start()

    bench = Bench([picture(1), reader_takes, CameraLost("unplugged")], [picture(2)])
    bench.run()
    assert bench.ledger[:3] == ["lent", "back", "closed"]
    assert len(held) == 1
