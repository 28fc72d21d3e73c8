"""`edgefaced calibrate`: from pictures of many people to the score that keeps a promise."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from pydantic import TypeAdapter, ValidationError
from rich.table import Table

from edgefaced.cli.context import CliContext, pass_context
from edgefaced.cli.measuring import (
    Subject,
    embed_with_bar,
    faults_body,
    folder_argument,
    prepare_folder,
    say_faults,
    say_suspects,
    subject_of,
    subject_options,
    suspects_body,
)
from edgefaced.cli.numbers import NumberRange
from edgefaced.cli.output import json_option, plain, print_json, stdout
from edgefaced.core.calibration import ScoreCalibration, ThresholdChoice, choose_threshold
from edgefaced.core.comparisons import compare_all
from edgefaced.errors import StorageError, UsageError
from edgefaced.evaluation.all_pairs import SuspectPictures, suspect_pictures
from edgefaced.evaluation.calibrating import (
    Measured,
    measure_calibration,
    refuse_too_few,
    spec_of,
)
from edgefaced.evaluation.manifest_text import calibration_toml, is_manifest, with_calibration
from edgefaced.evaluation.people import read_people
from edgefaced.models.atomic import write_whole
from edgefaced.models.catalogue import manifest_files
from edgefaced.models.manifest import CalibrationSpec, Name
from edgefaced.types import Role

GALLERIES = (1, 10, 100, 1_000, 10_000)
RATES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)


@dataclass(frozen=True, slots=True)
class Result:
    """What was measured, and the form it takes in a manifest."""

    measured: Measured
    chosen: ScoreCalibration
    spec: CalibrationSpec
    suspects: tuple[SuspectPictures, ...]
    target_fpir: float

    @property
    def thresholds(self) -> list[ThresholdChoice]:
        return [choose_threshold(self.chosen, self.target_fpir, size) for size in GALLERIES]


@click.command()
@folder_argument
@subject_options
@click.option(
    "--target-fpir",
    type=NumberRange(1e-6, 0.5),
    help="For the thresholds shown: how often a stranger may match anybody. Absent: configured.",
)
@click.option(
    "--keep-suspects",
    is_flag=True,
    help="Calibrate on everything, also on pairs that are perhaps one person under two names.",
)
@click.option(
    "--write",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the TOML block: into the embedder of a manifest, or alone into another file.",
)
@click.option(
    "--new-pack",
    metavar="NAME",
    help="Write a manifest of your own: the pack under this name, with this calibration.",
)
@json_option
@pass_context
def calibrate(
    context: CliContext,
    folder: Path,
    *,
    pack: str | None,
    detector_size: int | None,
    target_fpir: float | None,
    keep_suspects: bool,
    file: Path | None,
    new_pack: str | None,
    as_json: bool,
) -> None:
    """Measure how strangers score in FOLDER, with one sub-folder a person; LFW's layout works.

    Gives the false match rate of every score, with its uncertainty, and so a threshold for a
    gallery of any size. The people of FOLDER should be like those who will come to the door.
    """
    pictures = read_people(folder)
    subject = subject_of(context, pack, detector_size)
    target = _target(subject, file, new_pack)
    if target is not None:
        prepare_folder(target.file.parent)
    refuse_too_few(pictures)
    embedded = embed_with_bar(subject, pictures, mirror=False)
    owners, names = embedded.owners(pictures)
    measured = measure_calibration(compare_all(embedded.vectors, owners))
    chosen = measured.everything if keep_suspects else measured.without_suspects
    where = folder.resolve()
    result = Result(
        measured=measured,
        chosen=chosen,
        spec=spec_of(
            chosen,
            measured_on=f"{where.name}: {len(embedded.found)} pictures of {len(names)} people, "
            f"detector input {subject.detector_size}",
            detector=subject.pack.of_role(Role.DETECTOR).id,
            excluded=0 if keep_suspects else measured.suspects.comparisons,
        ),
        suspects=suspect_pictures(measured.suspects, embedded, pictures),
        target_fpir=target_fpir or context.settings().recognition.target_fpir,
    )
    block = calibration_toml(result.spec)
    if target is not None:
        write_whole(target.file, target.text(result.spec, block).encode())
    if as_json:
        written = None if target is None else str(target.file)
        faults = faults_body(embedded, pictures)
        print_json({"pack": subject.pack.name, **faults, **_body(result), "written": written})
        return
    say_faults(embedded, pictures)
    _say(result, keep_suspects=keep_suspects)
    if target is None:
        stdout.print()
        for line in block.splitlines():
            stdout.print(plain(line))
    else:
        stdout.print(plain(f"written to {target.file}"))


@dataclass(frozen=True, slots=True)
class Target:
    """A file to write: a manifest (`manifest` is its present text) or a bare block."""

    file: Path
    manifest: str | None
    name: str

    def text(self, spec: CalibrationSpec, block: str) -> str:
        """Raises ManifestError where the block cannot be put in its place."""
        if self.manifest is None:
            return block
        return with_calibration(self.manifest, spec, str(self.file), name=self.name)


def _target(subject: Subject, file: Path | None, new_pack: str | None) -> Target | None:
    """What to write, looked at before the long work. Raises UsageError."""
    if file is not None and new_pack is not None:
        raise UsageError("--write and --new-pack together", "choose one")
    files = manifest_files((subject.store.layout.packs,))
    if new_pack is not None:
        _check_name(new_pack)
        if new_pack in files:
            raise UsageError(
                f"there is a pack {new_pack!r}", f"--write {files[new_pack]} changes it"
            )
        target = subject.store.layout.packs / f"{new_pack}.toml"
        return Target(target, _read(files[subject.pack.name]), new_pack)
    if file is None:
        return None
    text = _read(file) if file.exists() else ""
    if is_manifest(text):
        return Target(file, text, "")
    if text and "[model.calibration]" not in text:
        raise UsageError(f"{file} is neither a manifest nor a calibration", "name another file")
    return Target(file, None, "")


def _check_name(name: str) -> None:
    try:
        TypeAdapter(Name).validate_python(name)
    except ValidationError:
        raise UsageError(
            f"--new-pack {name!r}", "a pack's name is of a-z, 0-9, '.', '_' and '-'"
        ) from None


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StorageError(f"{file}: {error}", "is it a readable text file?") from error


def _body(result: Result) -> dict[str, Any]:
    return {
        "calibration": result.spec.model_dump(mode="json"),
        "resolution": result.chosen.resolution,
        "rates": [
            {
                "fmr": rate,
                "threshold": result.measured.without_suspects.threshold_for_fmr(rate),
                "threshold_upper": _upper(result.measured.without_suspects, rate),
                "threshold_with_suspects": result.measured.everything.threshold_for_fmr(rate),
                "threshold_upper_with_suspects": _upper(result.measured.everything, rate),
            }
            for rate in RATES
        ],
        "suspects": suspects_body(result.suspects),
        "target_fpir": result.target_fpir,
        "thresholds": [
            {
                "gallery_size": choice.gallery_size,
                "threshold": choice.threshold,
                "fmr": choice.fmr,
                "fmr_upper": choice.fmr_upper,
                "fpir": choice.fpir,
                "fpir_upper": choice.fpir_upper,
                "basis": choice.basis.value,
                "extrapolated": choice.extrapolated,
            }
            for choice in result.thresholds
        ],
    }


def _upper(calibration: ScoreCalibration, rate: float) -> float:
    return calibration.threshold_for_fmr(rate, upper=True)


def _say(result: Result, *, keep_suspects: bool) -> None:
    clean, everything = result.measured.without_suspects, result.measured.everything
    stdout.print(
        plain(
            f"{clean.comparisons:,} comparisons of different people, {clean.identities:,} people; "
            f"rates below {result.chosen.resolution:.1g} are extrapolated"
        )
    )
    say_suspects(result.suspects, result.measured.suspects.comparisons)
    if result.suspects:
        done = "kept all the same" if keep_suspects else "left out of the calibration"
        stdout.print(plain(f"their comparisons above {clean.tail.start:.3f} are {done}"))
    columns = ("FMR", "score", "upper 95 %", "score with suspects", "upper 95 %")
    table = Table(*columns, box=None, pad_edge=False)
    for rate in RATES:
        both = (clean, everything) if result.suspects else (clean,)
        cells = [f"{v:.3f}" for c in both for v in (c.threshold_for_fmr(rate), _upper(c, rate))]
        table.add_row(f"{rate:.0e}", *cells)
    stdout.print(table)
    for name, tail in (("tail", result.chosen.tail), ("its bound", result.chosen.tail_upper)):
        stdout.print(
            plain(
                f"{name}: above {tail.start:.3f} generalised Pareto, rate {tail.rate:.3g}, "
                f"scale {tail.scale:.4f}, shape {tail.shape:+.3f}"
            )
        )
    stdout.print()
    stdout.print(plain(f"thresholds for FPIR {result.target_fpir:g} by the upper bound:"))
    table = Table("templates", "threshold", "FPIR", "at most", "basis", box=None, pad_edge=False)
    for choice in result.thresholds:
        rates = ["-" if r is None else f"{r:.1e}" for r in (choice.fpir, choice.fpir_upper)]
        size = f"{choice.gallery_size:,}"
        table.add_row(size, f"{choice.threshold:.3f}", *rates, choice.basis.value)
    stdout.print(table)
