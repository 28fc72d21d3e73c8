"""One network from float to its targets: what it is converted with, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Literal

import numpy as np

from edgefaced.inference.onnx import OnnxBackend
from edgefaced.models.compiled import CompiledModel, GoldenRecord, NeedsRecord
from edgefaced.recognition.contract import IMAGE
from edgefaced.types import U8
from edgefaced_convert.archive import Member
from edgefaced_convert.calset import CalibrationSet, Part
from edgefaced_convert.cost import costs_of
from edgefaced_convert.cpu_road import CpuRoad
from edgefaced_convert.equalise import equalised
from edgefaced_convert.forms import float_feed, float_form, portable_form
from edgefaced_convert.golden import LOWEST_COSINE, golden_file
from edgefaced_convert.judging import DetectorJudge, EmbedderJudge, Judge, Verdict
from edgefaced_convert.layer_errors import LayerError, first_bad
from edgefaced_convert.layer_table import Layer
from edgefaced_convert.operators import read_network
from edgefaced_convert.packs import PackNetwork
from edgefaced_convert.proof_detector import Scene
from edgefaced_convert.proof_embedder import AlignedPairs, aligned, as_fed
from edgefaced_convert.rknn_build import working_folder
from edgefaced_convert.rknn_road import RknnRoad
from edgefaced_convert.road import Plan, Precision, Road
from edgefaced_convert.roofline import cost_record
from edgefaced_convert.scenes import scenes_of
from edgefaced_convert.search import Attempt
from edgefaced_convert.targets import Course, Reached, reach
from edgefaced_convert.toolchain import ConvertError, toolkit_version
from edgefaced_convert.versions import needs_of

RANGED = 16
"""Pictures on which the ranges of channels are measured."""


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """One network and all that it is quantised and proved with."""

    network: PackNetwork
    calibration: CalibrationSet
    golden: U8
    scenes: tuple[Scene, ...]
    pairs: AlignedPairs | None
    pictures: tuple[U8, ...]
    """To calibrate with, as the network is fed: (height, width, 3)."""
    threads: int


@dataclass(frozen=True, slots=True, eq=False)
class Converted:
    """One network for one target, with what led to it."""

    model: CompiledModel
    members: tuple[Member, ...]
    verdict: Verdict
    plan: Plan
    attempts: tuple[Attempt[Verdict], ...]
    bad: LayerError | None
    layers: tuple[Layer, ...]
    said: tuple[str, ...]
    seconds: float


def convert_network(
    task: Task, targets: Sequence[str], precision: Precision, say: Callable[[str], None]
) -> Iterator[Converted | ConvertError]:
    """For each target in turn its result, or why there is none: no plan holds the bars.

    Raises DependencyMissing without the toolkit.
    """
    if "cpu" in targets and precision == "fp16":
        raise ConvertError("a CPU gains nothing from fp16", "--precision int8 or mixed")
    plain = OnnxBackend(portable_form(task.network), threads=task.threads, optimise=True)
    try:
        judge = _judge(task, plain).prove
        road_to = _cpu_road(task) if "cpu" in targets else _board_roads(task)
        for one in reach(Course(road_to, precision, judge, task.golden, say), targets):
            yield one if isinstance(one, ConvertError) else _converted(task, one)
    finally:
        plain.close()


def _judge(task: Task, plain: OnnxBackend) -> Judge:
    held_out = task.calibration
    if task.network.spec.decoder is None:
        faces = aligned(held_out.of(held_out.faces, Part.HELD_OUT))
        return EmbedderJudge(task.network, plain, faces, task.pairs)
    frames = scenes_of(held_out.of(held_out.frames, Part.HELD_OUT))
    return DetectorJudge(task.network, plain, frames, task.scenes)


def _cpu_road(task: Task) -> Callable[[str], AbstractContextManager[Road]]:
    feeds = [{IMAGE: picture[np.newaxis]} for picture in task.pictures[:RANGED]]
    form = equalised(portable_form(task.network), feeds)
    return lambda _: nullcontext(CpuRoad(form, task.network, task.pictures, task.threads))


def _board_roads(task: Task) -> Callable[[str], AbstractContextManager[Road]]:
    feeds = [float_feed(task.network, picture) for picture in task.pictures[:RANGED]]
    form = equalised(float_form(task.network), feeds)

    @contextmanager
    def road_to(target: str) -> Iterator[Road]:
        with working_folder() as folder:
            yield RknnRoad(form, task.network, target, task.pictures, folder)

    return road_to


def _converted(task: Task, reached: Reached[Verdict]) -> Converted:
    target, found = reached.target, reached.found
    network, built = task.network, found.built
    spec, size = network.spec, network.size
    kind: Literal["onnx", "rknn"] = "onnx" if target == "cpu" else "rknn"
    precision = found.plan.precision
    stem = f"{spec.id}-{size}-{target}-{precision}"
    data = Member(f"{stem}.{kind}", built.data)
    golden = Member(f"{stem}.npz", golden_file(task.golden, reached.answers))
    model = CompiledModel(
        id=spec.id,
        original_sha256=spec.sha256,
        target=target,
        kind=kind,
        precision=precision,
        width=size,
        height=size,
        file=data.name,
        size_bytes=len(data.data),
        sha256=data.sha256,
        outputs=built.outputs,
        needs=_needs(target),
        golden=GoldenRecord(
            file=golden.name,
            size_bytes=len(golden.data),
            sha256=golden.sha256,
            lowest_cosine=LOWEST_COSINE[kind],
        ),
        proof=found.figures.record(),
        cost=cost_record(costs_of(read_network(float_form(network), spec.id, None))),
    )
    return Converted(
        model=model,
        members=(data, golden),
        verdict=found.figures,
        plan=found.plan,
        attempts=found.attempts,
        bad=first_bad(reached.errors),
        layers=built.layers,
        said=built.said,
        seconds=reached.seconds,
    )


def _needs(target: str) -> NeedsRecord:
    return needs_of(target, toolkit_version() if target != "cpu" else "")


def fed_pictures(network: PackNetwork, calibration: CalibrationSet, most: int) -> tuple[U8, ...]:
    """The set's calibrating part as this network is fed, `most` pictures of it."""
    order = network.spec.input.colour_order
    if network.spec.decoder is None:
        faces = calibration.of(calibration.faces, Part.CALIBRATE)
        return tuple(as_fed(faces[:most], order))
    frames = as_fed(calibration.of(calibration.frames, Part.CALIBRATE)[:most], order)
    return tuple(_letterboxed(frame, network.size) for frame in frames)


def _letterboxed(frame: U8, size: int) -> U8:
    from edgefaced.core.letterbox import fit
    from edgefaced.core.scaling import resize_into

    box = fit(frame.shape[1], frame.shape[0], size, size)
    picture = np.zeros((size, size, 3), np.uint8)
    resize_into(picture[: box.fitted_height, : box.fitted_width], frame)
    return picture
