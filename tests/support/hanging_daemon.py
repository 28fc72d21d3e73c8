"""A daemon one stage of which hangs for ever in a system call; run with the stage and a folder."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

from coloured import ANN, Cast, ColourDetector, ColourEmbedder, Watched, scene
from plugged_camera import Machine

from edgefaced.camera.v4l2 import ioctl as v4l2
from edgefaced.camera.v4l2.canned import CannedKernel
from edgefaced.cli.run import conclude
from edgefaced.config.places import Places
from edgefaced.config.settings import Settings
from edgefaced.daemon import Daemon
from edgefaced.events import Event
from edgefaced.pipeline.line import Parts
from edgefaced.pipeline.tap import FaceTap
from edgefaced.protocols import Delivery, SinkPlan, SinkPlans
from edgefaced.sensors.thermal import ScriptedSensor
from edgefaced.supervisor import Nobody
from edgefaced.types import AlignedFace, Embedding, FaceDetection, Frame

STAGE = sys.argv[1]


def hang_in_a_driver(stage: str) -> None:
    if stage == STAGE:
        print("hangs", flush=True)  # noqa: T201 - whoever started this waits for it
        os.read(os.pipe()[0], 1)


class HangingKernel(CannedKernel):
    def ioctl(self, fd: int, request: int, argument: ctypes.Structure | ctypes.c_int) -> None:
        if request == v4l2.DQBUF:
            hang_in_a_driver("capture")
        super().ioctl(fd, request, argument)


class HangingDetector(ColourDetector):
    def detect(self, frame: Frame) -> list[FaceDetection]:
        hang_in_a_driver("detect")
        return super().detect(frame)


class HangingEmbedder(ColourEmbedder):
    def embed(self, face: AlignedFace) -> Embedding:
        hang_in_a_driver("recognise")
        return super().embed(face)


class HangingSink(Watched):
    def emit(self, event: Event) -> None:
        hang_in_a_driver("deliver watched")
        super().emit(event)


def main(folder: Path) -> int:
    machine = Machine(folder / "machine", kernel=HangingKernel())

    def parts(settings: Settings, places: Places, sinks: SinkPlans, tap: FaceTap) -> Parts:
        return Cast(machine.open, HangingDetector(), HangingEmbedder(), sinks=sinks).parts(tap)

    daemon = Daemon(
        Settings,
        Places(folder / "edgefaced.toml", folder / "state", folder / "models"),
        {"watched": SinkPlan(HangingSink, Delivery.MOMENTARY)},
        lambda settings: ScriptedSensor((40.0,)),
        Nobody(),
        parts,
        stop_seconds=4.0,
    )
    with machine.showing(lambda number: scene((ANN, 50), sequence=number)):
        return conclude(daemon.run(), daemon.line, as_json=True)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[2])))
