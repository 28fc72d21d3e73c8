"""One network from float to its targets: searched once, proved once, compiled for each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from edgefaced.inference.onnx import OnnxBackend
from edgefaced.models.compiled import CompiledModel, GoldenRecord, NeedsRecord
from edgefaced.protocols import Tensor
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
from edgefaced_convert.road import Built, Plan, Precision
from edgefaced_convert.roofline import cost_record
from edgefaced_convert.scenes import scenes_of
from edgefaced_convert.search import Attempt, Found, search
from edgefaced_convert.toolchain import ConvertError, toolkit_version
from edgefaced_convert.versions import needs_of

SAME_EVERYWHERE = 0.9999
"""Cosine of each output between the simulations of two targets, of which one is then proved."""
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
) -> Iterator[Converted]:
    """One result a target: the first is searched and proved, others that compute as it does follow.

    Raises ConvertError where no plan holds the bars, DependencyMissing without the toolkit.
    """
    plain = OnnxBackend(portable_form(task.network), threads=task.threads, optimise=True)
    try:
        judge = _judge(task, plain)
        if targets == ["cpu"]:
            yield _for_cpu(task, precision, judge, say)
        else:
            yield from _for_boards(task, targets, precision, judge, say)
    finally:
        plain.close()


def _judge(task: Task, plain: OnnxBackend) -> Judge:
    held_out = task.calibration
    if task.network.spec.decoder is None:
        faces = aligned(held_out.of(held_out.faces, Part.HELD_OUT))
        return EmbedderJudge(task.network, plain, faces, task.pairs)
    frames = scenes_of(held_out.of(held_out.frames, Part.HELD_OUT))
    return DetectorJudge(task.network, plain, frames, task.scenes)


def _for_cpu(
    task: Task, precision: Precision, judge: Judge, say: Callable[[str], None]
) -> Converted:
    if precision == "fp16":
        raise ConvertError("a CPU gains nothing from fp16", "--precision int8 or mixed")
    started = time.monotonic()
    feeds = [{IMAGE: picture[np.newaxis]} for picture in task.pictures[:RANGED]]
    form = equalised(portable_form(task.network), feeds)
    road = CpuRoad(form, task.network, task.pictures, task.threads)
    with search(road, precision, judge.prove, say) as found:
        return _converted(task, "cpu", found, time.monotonic() - started)


def _for_boards(
    task: Task,
    targets: Sequence[str],
    precision: Precision,
    judge: Judge,
    say: Callable[[str], None],
) -> Iterator[Converted]:
    feeds = [float_feed(task.network, picture) for picture in task.pictures[:RANGED]]
    form = equalised(float_form(task.network), feeds)
    first: Found[Verdict] | None = None
    answers: list[Tensor] = []  # of the first target to the golden picture
    for target in targets:
        started = time.monotonic()
        with working_folder() as folder:
            road = RknnRoad(form, task.network, target, task.pictures, folder)
            way = _again(road, first) if first else _searched(road, precision, judge, say)
            with way as found:
                given = [np.array(a) for a in found.built.backend.run({IMAGE: task.golden})]
                if first is None:
                    first, answers = found, given
                elif not _alike(answers, given):
                    say(f"{target} computes otherwise than {targets[0]}: proved by itself")
                    found = replace(found, figures=judge.prove(found.built)[0])
                yield _converted(task, target, found, time.monotonic() - started)


@contextmanager
def _searched(
    road: RknnRoad, precision: Precision, judge: Judge, say: Callable[[str], None]
) -> Iterator[Found[Verdict]]:
    if precision != "fp16":
        with search(road, precision, judge.prove, say) as found:
            yield found
        return
    with road.built_fp16() as built:
        verdict, fault = judge.prove(built)
        if fault:
            raise ConvertError(f"refused in fp16: {fault}", "the network itself does not fit")
        yield Found(built, FP16, verdict, (Attempt(FP16, verdict, "", None),))


@contextmanager
def _again(road: RknnRoad, first: Found[Verdict]) -> Iterator[Found[Verdict]]:
    """The plan that was proved, for another target."""
    building = road.built_fp16() if first.plan is FP16 else road.built(first.plan)
    with building as built:
        yield replace(first, built=built)


FP16 = Plan("none", ("all",), "all of it in fp16")


def _alike(before: Sequence[Tensor], after: Sequence[Tensor]) -> bool:
    for a, b in zip(before, after, strict=True):
        x, y = a.ravel().astype(np.float64), b.ravel().astype(np.float64)
        length = float(np.linalg.norm(x) * np.linalg.norm(y))
        if length and float(x @ y) / length < SAME_EVERYWHERE:
            return False
    return True


def _converted(task: Task, target: str, found: Found[Verdict], seconds: float) -> Converted:
    verdict = found.figures
    if verdict.fault:
        raise ConvertError(
            f"{target} refused: {verdict.fault}", "convert it alone: plans are tried"
        )
    network, built = task.network, found.built
    spec, size = network.spec, network.size
    kind = "onnx" if target == "cpu" else "rknn"
    precision: Precision = "fp16" if found.plan is FP16 else found.plan.precision
    stem = f"{spec.id}-{size}-{target}-{precision}"
    data = Member(f"{stem}.{kind}", built.data)
    golden = Member(f"{stem}.npz", golden_file(built.backend, task.golden))
    errors = _errors(built, found.plan)
    model = CompiledModel(
        id=spec.id,
        original_sha256=spec.sha256,
        target=target,
        kind="onnx" if target == "cpu" else "rknn",
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
        proof=verdict.record(),
        cost=cost_record(costs_of(read_network(float_form(network), spec.id, None))),
    )
    return Converted(
        model=model,
        members=(data, golden),
        verdict=verdict,
        plan=found.plan,
        attempts=found.attempts,
        bad=first_bad(errors),
        layers=built.layers,
        said=built.said,
        seconds=seconds,
    )


def _errors(built: Built, plan: Plan) -> list[LayerError]:
    return [] if plan is FP16 else built.layer_errors()


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
