"""`convert`: a pack's networks for a target, quantised, proved and packed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any, get_args

import click

from edgefaced.cli.output import fail, json_option, note, plain, print_json, stdout, warn
from edgefaced.errors import UsageError
from edgefaced.recognition.recogniser import Recogniser, open_recogniser
from edgefaced.types import Role
from edgefaced_convert.calset import CalibrationSet, read_set
from edgefaced_convert.commands.calibrating import PASSPHRASE, read_passphrase
from edgefaced_convert.conversion import Converted, Task, convert_network, fed_pictures
from edgefaced_convert.golden import golden_picture
from edgefaced_convert.packing import pack_each
from edgefaced_convert.packs import DETECTOR_SIZE_PX, OpenPack, open_pack
from edgefaced_convert.proof_embedder import align_pairs
from edgefaced_convert.road import Precision
from edgefaced_convert.scenes import scenes_in
from edgefaced_convert.speed import speed_up
from edgefaced_convert.toolchain import TARGETS, toolkit_version


@click.command()
@click.argument("pack")
@click.option(
    "--target", "targets", type=click.Choice([*TARGETS, "cpu"]), multiple=True, required=True
)
@click.option("--precision", type=click.Choice(get_args(Precision)), required=True)
@click.option("--set", "set_file", type=click.Path(path_type=Path), required=True)
@PASSPHRASE
@click.option("--role", type=click.Choice(["detector", "embedder"]), help="Only this network.")
@click.option("--size", default=DETECTOR_SIZE_PX, show_default=True, help="Of the detector.")
@click.option("--pictures", "pictures", multiple=True, type=click.Path(path_type=Path, exists=True))
@click.option("--lfw", type=click.Path(path_type=Path, exists=True), help="Folder with pairs.txt.")
@click.option("--most", default=100, show_default=True, help="Calibrating pictures to use.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=".")
@json_option
@click.pass_context
def convert(
    ctx: click.Context,
    pack: str,
    targets: tuple[str, ...],
    precision: Precision,
    set_file: Path,
    passphrase_file: Path | None,
    role: str | None,
    size: int,
    pictures: tuple[Path, ...],
    lfw: Path | None,
    most: int,
    out: Path,
    as_json: bool,
) -> None:
    """Converts PACK and writes PACK-TARGET-PRECISION.tar for `edgefaced models import`.

    With --role it is PACK-ROLE-TARGET-PRECISION.tar, imported beside the other network's. Proved
    on the set's held-out part, and on --pictures and --lfw where they are named. A target that is
    refused leaves the archives of the others.
    """
    targets = tuple(dict.fromkeys(targets))
    if "cpu" in targets and len(targets) > 1:
        raise UsageError("cpu is another road than the boards'", "convert for it by itself")
    if "cpu" not in targets:
        toolkit_version()  # before anything that takes minutes
    calibration = read_set(set_file, read_passphrase(passphrase_file))
    opened = open_pack(pack)
    roles = (Role(role),) if role else (Role.DETECTOR, Role.EMBEDDER)
    out.mkdir(parents=True, exist_ok=True)
    with _float_recogniser(opened) as recogniser:
        tasks = [
            _task(opened, r, size, calibration, recogniser, pictures, lfw, most) for r in roles
        ]
    speeds: dict[str, dict[str, float]] = {}

    def show(one: Converted) -> None:
        if not as_json:
            _say(one)
        if one.model.kind == "onnx":
            speeds[one.model.id] = _speed(opened, tasks, one)

    packed = pack_each(
        pack,
        targets,
        {t.network.spec.id: convert_network(t, targets, precision, note) for t in tasks},
        lambda target: out / f"{'-'.join(filter(None, (pack, role, target, precision)))}.tar",
        show,
        note,
    )
    networks = [_body(one) for one in packed.networks]
    body = {"networks": networks, "archives": packed.archives, "speeds": speeds}
    if packed.fault is not None:
        ctx.exit(fail(packed.fault, as_json=as_json, body=body))
    if as_json:
        print_json(body)


def _speed(opened: OpenPack, tasks: Sequence[Task], one: Converted) -> dict[str, float]:
    task = next(task for task in tasks if task.network.spec.id == one.model.id)
    faster = speed_up(opened, task.network, one.members[0].data, task.golden)
    figures: dict[str, float] = asdict(faster)
    runtime = f"onnxruntime {version('onnxruntime')}"  # another one may differ much
    note(f"{one.model.id}: {faster.ratio} times as fast as float32 ({runtime}): {figures}")
    if faster.ratio < 1:
        warn(f"{one.model.id} is slower in int8 on this CPU: leave it in float32")
    return figures


def _float_recogniser(opened: OpenPack) -> Recogniser:
    return open_recogniser(
        opened.store, opened.manifest, detector_size=DETECTOR_SIZE_PX, threads=_threads()
    )


def _threads() -> int:
    return max((os.cpu_count() or 2) // 2, 1)


def _task(
    opened: OpenPack,
    role: Role,
    size: int,
    calibration: CalibrationSet,
    recogniser: Recogniser,
    pictures: tuple[Path, ...],
    lfw: Path | None,
    most: int,
) -> Task:
    network = opened.network(role, size)
    detects = role is Role.DETECTOR
    pairs = None
    if lfw is not None and not detects:
        note("finding the faces of LFW's pairs")
        pairs = align_pairs(lfw, recogniser, lambda: None)
    task = Task(
        network=network,
        calibration=calibration,
        golden=golden_picture(opened, network, recogniser),
        scenes=tuple(scenes_in(pictures)) if detects and pictures else (),
        pairs=pairs,
        pictures=fed_pictures(network, calibration, most),
        threads=_threads(),
    )
    note(f"{network.spec.id}: {len(task.pictures)} pictures to calibrate with")
    return task


def _say(one: Converted) -> None:
    model = one.model
    stdout.print(
        plain(
            f"{model.id} @{model.size} {model.target} {model.precision}: {model.size_bytes} bytes, "
            f"{one.seconds:.0f} s; {one.plan}"
        )
    )
    verdict = one.verdict
    for name in ("embedder", "lfw", "detector", "pictures"):
        figures = getattr(verdict, name)
        if figures is not None:
            stdout.print(plain(f"  {name}: {_words(asdict(figures))}"))
    if one.bad is not None:
        where = f"{one.bad.kind} {one.bad.name}"
        stdout.print(plain(f"  first bad layer: {where}, cosine {one.bad.cosine:.4f}"))
    on_cpu = [layer for layer in one.layers if layer.on_cpu]
    if on_cpu:
        names = ", ".join(f"{layer.kind} {layer.name}" for layer in on_cpu[:3])
        warn(f"{len(on_cpu)} of {len(one.layers)} layers stay on the CPU: {names}")
    for line in one.said:
        warn(line)


def _words(figures: dict[str, Any]) -> str:
    return ", ".join(
        f"{name} {value:.4f}" if isinstance(value, float) else f"{name} {value}"
        for name, value in figures.items()
        if value is not None
    )


def _body(one: Converted) -> dict[str, Any]:
    return {
        "model": one.model.model_dump(mode="json", exclude_none=True),
        "verdict": asdict(one.verdict),
        "plan": asdict(one.plan),
        "attempts": [
            {
                "plan": attempt.plan.words,
                "algorithm": attempt.plan.algorithm,
                "in_float": list(attempt.plan.in_float),
                "fault": attempt.fault,
                "figures": asdict(attempt.figures),
                "first_bad": asdict(attempt.bad) if attempt.bad else None,
            }
            for attempt in one.attempts
        ],
        "first_bad": asdict(one.bad) if one.bad else None,
        "layers": len(one.layers),
        "on_cpu": [asdict(layer) for layer in one.layers if layer.on_cpu],
        "cycles": sum(layer.cycles for layer in one.layers),
        "seconds": round(one.seconds, 1),
    }
