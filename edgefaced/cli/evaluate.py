"""`edgefaced evaluate`: how well a pack tells people apart, on pictures whose people are known."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
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
from edgefaced.cli.output import json_option, note, plain, print_json, stdout
from edgefaced.core.comparisons import Comparisons, compare_all
from edgefaced.errors import DependencyMissing
from edgefaced.evaluation.all_pairs import AllPairs, measure_all_pairs
from edgefaced.evaluation.embedding import EmbeddedPictures
from edgefaced.evaluation.lfw import LfwResult, evaluate_lfw, score_pairs
from edgefaced.evaluation.pairs import read_pairs
from edgefaced.evaluation.people import Pictures, read_people
from edgefaced.types import Role

output_option = click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the picture of ROC and scores.",
)
flip_option = click.option(
    "--flip", is_flag=True, help="Add the embeddings of the face and of its mirror image."
)


@click.group()
def evaluate() -> None:
    """Measure how well a pack tells people apart. No embedding is kept on disk."""


@evaluate.command("lfw")
@folder_argument
@subject_options
@flip_option
@output_option
@json_option
@pass_context
def evaluate_lfw_folder(
    context: CliContext,
    folder: Path,
    *,
    pack: str | None,
    detector_size: int | None,
    flip: bool,
    output: Path | None,
    as_json: bool,
) -> None:
    """Accuracy over ten folds, TAR at FAR, EER and all pairs, on Labeled Faces in the Wild.

    FOLDER holds pairs.txt and NAME/NAME_0001.jpg, in a folder `images` or directly.
    """
    listed = read_pairs(folder)
    subject = subject_of(context, pack, detector_size)
    if output is not None:
        prepare_folder(output)
    embedded = embed_with_bar(subject, listed.pictures, mirror=flip)
    result = evaluate_lfw(score_pairs(listed, embedded))
    _report(subject, listed.pictures, embedded, result, output, flip=flip, as_json=as_json)


@evaluate.command("folder")
@folder_argument
@subject_options
@flip_option
@output_option
@json_option
@pass_context
def evaluate_folder(
    context: CliContext,
    folder: Path,
    *,
    pack: str | None,
    detector_size: int | None,
    flip: bool,
    output: Path | None,
    as_json: bool,
) -> None:
    """Every picture against every other, of a FOLDER with one sub-folder a person."""
    pictures = read_people(folder)
    subject = subject_of(context, pack, detector_size)
    if output is not None:
        prepare_folder(output)
    embedded = embed_with_bar(subject, pictures, mirror=flip)
    _report(subject, pictures, embedded, None, output, flip=flip, as_json=as_json)


def _report(
    subject: Subject,
    pictures: Pictures,
    embedded: EmbeddedPictures,
    lfw: LfwResult | None,
    output: Path | None,
    *,
    flip: bool,
    as_json: bool,
) -> None:
    owners, _ = embedded.owners(pictures)
    comparisons = compare_all(embedded.vectors, owners)
    all_pairs = measure_all_pairs(comparisons, embedded, pictures)
    detector, embedder = (subject.pack.of_role(r).id for r in (Role.DETECTOR, Role.EMBEDDER))
    title = f"{subject.pack.name}: {detector} at {subject.detector_size}, {embedder}"
    title += ", with mirror images" if flip else ""
    drawn = None if output is None else _draw(comparisons, title, output)
    if as_json:
        print_json(
            {
                "pack": subject.pack.name,
                "detector": detector,
                "detector_size": subject.detector_size,
                "embedder": embedder,
                "flip": flip,
                **faults_body(embedded, pictures),
                **({} if lfw is None else {"lfw": _lfw_body(lfw)}),
                "all_pairs": _all_pairs_body(all_pairs),
                "picture": None if drawn is None else str(drawn),
            }
        )
        return
    stdout.print(plain(title))
    say_faults(embedded, pictures)
    if lfw is not None:
        _say_lfw(lfw)
    _say_all_pairs(all_pairs)
    if drawn is not None:
        stdout.print(plain(f"ROC and scores: {drawn}"))


def _draw(comparisons: Comparisons, title: str, output: Path) -> Path | None:
    from edgefaced.evaluation.plots import draw_scores

    file = output / "scores.png"
    try:
        draw_scores(comparisons, title, file)
    except DependencyMissing as error:
        note(f"no picture: {error}")
        return None
    return file


def _lfw_body(result: LfwResult) -> dict[str, Any]:
    return {
        "pairs": result.pairs,
        "pairs_without_a_face": result.unscored,
        "accuracy": result.accuracy.mean,
        "accuracy_deviation": result.accuracy.deviation,
        "fold_accuracies": list(result.accuracy.folds),
        "fold_thresholds": list(result.accuracy.thresholds),
        "tar_at_far": [
            {"far": p.wanted_fmr, "tar": p.tar, "threshold": p.threshold} for p in result.tar_at_far
        ],
        "eer": result.eer,
    }


def _say_lfw(result: LfwResult) -> None:
    accuracy = result.accuracy
    stdout.print(
        plain(
            f"LFW, {len(accuracy.folds)} folds, {result.pairs:,} pairs: accuracy "
            f"{accuracy.mean:.4f} ± {accuracy.deviation:.4f} (standard deviation over folds)"
        )
    )
    if result.unscored:
        stdout.print(plain(f"{result.unscored} pairs lack a face and count as not matching"))
    for point in result.tar_at_far:
        stdout.print(
            plain(f"TAR at FAR {point.wanted_fmr:g}: {point.tar:.4f} (at {point.threshold:.3f})")
        )
    stdout.print(plain(f"EER: {result.eer:.4f}"))


def _all_pairs_body(result: AllPairs) -> dict[str, Any]:
    return {
        "people": result.people,
        "pictures": result.pictures,
        "genuine": result.genuine,
        "impostors": result.impostors,
        "points": [asdict(p) for p in result.points],
        "points_without_suspects": [asdict(p) for p in result.without_suspects],
        "suspect_comparisons": result.suspect_comparisons,
        "suspects": suspects_body(result.suspects),
    }


def _say_all_pairs(result: AllPairs) -> None:
    stdout.print(
        plain(
            f"all pairs of {result.pictures:,} pictures of {result.people:,} people: "
            f"{result.genuine:,} genuine, {result.impostors:,} impostor comparisons"
        )
    )
    if not result.points:
        stdout.print("no person has two pictures: nothing can be said of FNMR")
        return
    table = Table("FMR", "threshold", "FNMR", box=None, pad_edge=False)
    clean = {p.wanted_fmr: p for p in result.without_suspects}
    if clean:
        table.add_column("without suspects")
        table.add_column("FNMR")
    for point in result.points:
        row = [f"{point.wanted_fmr:.0e}", f"{point.threshold:.3f}", f"{point.fnmr:.2%}"]
        if other := clean.get(point.wanted_fmr):
            row += [f"{other.threshold:.3f}", f"{other.fnmr:.2%}"]
        table.add_row(*row)
    stdout.print(table)
    if clean:
        say_suspects(result.suspects, result.suspect_comparisons)
