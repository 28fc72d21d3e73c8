"""Every lease comes back; the camera may be busy, silent, frozen or gone, and returns."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from scripted_camera import ScriptedCamera, Step, picture

from edgefaced.core.sight import SightLimits
from edgefaced.core.thermal import BANDS, Cause, Pace
from edgefaced.errors import CameraBusy, CameraError, CameraLost, FrameDamaged
from edgefaced.events import CameraChanged, Happening, Trouble
from edgefaced.pipeline import capture
from edgefaced.pipeline.capture import Capturer
from edgefaced.pipeline.crew import Heartbeat
from edgefaced.pipeline.figures import Figures
from edgefaced.pipeline.freshness import Freshness
from edgefaced.pipeline.handoff import LatestSlot
from edgefaced.pipeline.pace import PaceBoard
from edgefaced.protocols import Camera, CameraCounts, FrameLease
from edgefaced.types import Frame


class Bench:
    """A capturer, the scripts its cameras play one after the other, and what became of it."""

    def __init__(self, *scripts: list[Step] | Exception) -> None:
        self.ledger: list[str] = []
        self.events: list[CameraChanged] = []
        self.troubles: list[Trouble] = []
        self.cuts = 0
        self.seconds, self.frame_seconds = 0.0, 0.1
        self.figures = Figures()
        self.slot: LatestSlot[FrameLease] = LatestSlot()
        self.pace = PaceBoard()
        self.stop = threading.Event()
        self.heartbeat = Heartbeat()
        *others, last = scripts
        # Nobody reads the slot here, so the last script says when it is over.
        final = [*last, self.stop.set] if isinstance(last, list) else last
        self._scripts: Iterator[list[Step] | Exception] = iter([*others, final])
        self.capturer = self.capturer_of(self._open)

    def capturer_of(
        self, open_camera: Callable[[], Camera], pauses: tuple[float, float] = (0.0, 0.0)
    ) -> Capturer:
        return Capturer(
            open_camera,
            self.slot,
            self._announce,
            cut=self._cut,
            pace=self.pace,
            freshness=Freshness(),
            figures=self.figures,
            stop=self.stop,
            pauses=pauses,
            now=self._now,
        )

    def _cut(self) -> None:
        self.cuts += 1

    def _now(self) -> float:
        """Later by a frame each time that it is asked, which is once a frame."""
        self.seconds += self.frame_seconds
        return self.seconds

    def _open(self) -> Camera:
        script = next(self._scripts)
        if isinstance(script, Exception):
            raise script
        return ScriptedCamera(iter(script), self.ledger)

    def _announce(self, happening: Happening) -> None:
        if isinstance(happening, Trouble):
            self.troubles.append(happening)
        else:
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
    assert bench.figures.frames["stride"] == 6, "the first, the fourth and the eighth go on"
    resting = Bench([picture(n) for n in range(5)])
    resting.pace.current = Pace(BANDS[-1], 4, Cause.HEAT, stepped=True)
    resting.run()
    assert resting.figures.frames["rest"] == 5


def test_however_hot_it_is_a_slow_camera_is_looked_at_once_a_second() -> None:
    bench = Bench([picture(n) for n in range(20)])
    bench.frame_seconds = 0.3
    bench.pace.current = Pace(BANDS[3], 3, Cause.HEAT, stepped=True)
    assert BANDS[3].frame_stride == 10
    bench.run()
    # The first, by time every fourth after it, and the tenth and twentieth by the stride.
    assert bench.figures.frames["stride"] == 20 - len({1, 5, 9, 10, 14, 18, 20})


def test_frames_that_are_passed_over_are_never_decoded_and_undecodable_ones_are_counted() -> None:
    decoded: list[int] = []

    class Compressing(ScriptedCamera):
        """Lends frames that are decoded when they are read; every third one cannot be."""

        def next(self, timeout: float) -> FrameLease | None:
            lease = super().next(timeout)
            if lease is None:
                return None
            frame = lease.frame
            lease.release()
            self._ledger.append("lent")

            def decode(part: int) -> Frame:
                decoded.append(frame.sequence)
                if frame.sequence % 3 == 0:
                    raise FrameDamaged("a frame cannot be decoded")
                return frame

            return self.book.lend_compressed(
                frame.sequence, decode, lambda: self._ledger.append("back"), copied_bytes=1
            )

    bench = Bench([])
    bench.pace.current = Pace(BANDS[1], 1, Cause.HEAT, stepped=True)  # every second frame
    steps: list[Step] = [*(picture(n) for n in range(12)), bench.stop.set]
    bench.capturer = bench.capturer_of(lambda: Compressing(iter(steps), bench.ledger))
    bench.run()
    assert BANDS[1].frame_stride == 2
    assert decoded == [1, 2, 4, 6, 8, 10, 12]
    assert bench.figures.lost["damaged"] == 2
    assert bench.figures.frames["stride"] == 5
    assert bench.ups == [True]


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


FROZEN_FRAMES = round(SightLimits().frozen_after * 10) + 1
BLIND_FRAMES = round(SightLimits().blind_after * 10) + 1


def test_a_frozen_camera_is_down_until_another_picture_comes() -> None:
    frozen: list[Step] = [picture(1)] * (FROZEN_FRAMES + 1)
    bench = Bench(frozen, frozen, [*frozen[:9], picture(2), picture(3)])
    bench.run()
    assert bench.ups == [True, False, True], "opening it again shows nothing new, and is no news"
    assert "frozen" in bench.events[1].detail
    assert bench.figures.camera_restarts == bench.cuts == 2
    frames = bench.figures.frames
    new, noticed = 3, 2
    assert frames["repeated"] == frames["captured"] - new - noticed


def test_a_frame_that_comes_twice_is_passed_on_once() -> None:
    bench = Bench([picture(1), picture(1), picture(2), picture(2), picture(2), picture(3)])
    bench.run()
    assert bench.figures.frames == {"captured": 6, "repeated": 3, "displaced": 2}
    assert bench.ups == [True]


def test_a_covered_lens_is_no_frozen_camera_and_is_said_once() -> None:
    black: list[Step] = [np.full((48, 64, 3), 3, np.uint8)] * (BLIND_FRAMES * 3)
    lit: list[Step] = [picture(n) for n in range(8)]
    bench = Bench([*lit, *black, *lit, *black[: BLIND_FRAMES // 2], *lit])
    bench.run()
    assert bench.ups == [True]
    assert ["lens is covered" in t.detail for t in bench.troubles] == [True, False]
    assert {t.where for t in bench.troubles} == {"camera"}


def test_what_was_lost_inside_the_camera_is_counted() -> None:
    bench = Bench([picture(1), CameraCounts(damaged=2, missed=3), picture(2), None])
    bench.run()
    assert bench.figures.lost == {"damaged": 2, "missed": 3, "overtaken": 0}
    damaged: list[Step] = [CameraCounts(damaged=n + 1) for n in range(capture.SILENT_ROUNDS)]
    endless = Bench([picture(1), *damaged], [picture(2)])
    endless.run()
    assert endless.ups == [True, False, True]
    assert "no whole frame, 6 damaged ones for 3 s" in endless.events[1].detail


def test_an_unforeseen_error_is_not_swallowed() -> None:
    bench = Bench([picture(1), ZeroDivisionError()])
    with pytest.raises(ZeroDivisionError):
        bench.run()


def test_a_stop_ends_it_in_the_middle_of_a_pause() -> None:
    bench = Bench(*[CameraError("broken")] * 2)
    later = threading.Timer(0.05, bench.stop.set)

    def broken() -> Camera:
        later.start()
        raise CameraError("broken")

    bench.capturer = bench.capturer_of(broken, (3600.0, 3600.0))
    bench.run()
    later.join()
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
