"""What `evaluate` and `calibrate` share: a pack's recogniser over a set of pictures, with a bar."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from edgefaced.cli.context import CliContext
from edgefaced.cli.engine import say_fallback
from edgefaced.cli.output import note, plain, stderr, stdout
from edgefaced.errors import Refused, StorageError
from edgefaced.evaluation.all_pairs import SuspectPictures
from edgefaced.evaluation.embedding import EmbeddedPictures, embed_pictures
from edgefaced.evaluation.people import Pictures
from edgefaced.inference.threads import default_threads
from edgefaced.models.catalogue import find_pack
from edgefaced.models.manifest import PackManifest
from edgefaced.models.store import ModelStore
from edgefaced.recognition.choose import Means, means_of
from edgefaced.recognition.recogniser import open_recogniser

Command = TypeVar("Command", bound=Callable[..., Any])

NAMED = 20
"""Files that are listed one by one before the rest is only counted."""

folder_argument = click.argument("folder", type=click.Path(path_type=Path))


@dataclass(frozen=True, slots=True)
class Subject:
    """What is measured: a pack at one detector size."""

    pack: PackManifest
    store: ModelStore
    detector_size: int
    threads: int
    means: Means


def subject_options(command: Command) -> Command:
    """Adds `--pack` and `--detector-size`; absent, the configuration's."""
    pack = click.option("--pack", help="Model pack; absent: the configured one.")
    size = click.option(
        "--detector-size", type=int, help="Side of the detector's input; absent: the configured."
    )
    return pack(size(command))


def subject_of(context: CliContext, pack: str | None, detector_size: int | None) -> Subject:
    """The pack to measure. Raises ModelMissing."""
    settings = context.settings()
    store = ModelStore(context.places.models_dir)
    return Subject(
        pack=find_pack(pack or settings.models.pack, (store.layout.packs,)),
        store=store,
        detector_size=detector_size or settings.detection.input_size_px,
        threads=settings.inference.threads or default_threads(),
        means=means_of(settings.inference, say_fallback),
    )


def embed_with_bar(subject: Subject, pictures: Pictures, *, mirror: bool) -> EmbeddedPictures:
    """Embeds every picture once. Raises Refused where fewer than two have a face."""
    with (
        open_recogniser(
            subject.store,
            subject.pack,
            detector_size=subject.detector_size,
            threads=subject.threads,
            means=subject.means,
        ) as recogniser,
        _bar("embedding", len(pictures.paths)) as advance,
    ):
        embedded = embed_pictures(recogniser, pictures, mirror=mirror, advance=advance)
    if len(embedded.found) < 2:
        raise Refused(
            f"faces were found in {len(embedded.found)} of {len(pictures.paths)} pictures",
            "is this a folder of faces?",
        )
    return embedded


def prepare_folder(folder: Path) -> None:
    """Makes the folder of a result before the long work. Raises StorageError."""
    hint = "name a place that you may write to"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"{folder}: {error.strerror or error}", hint) from error
    if not os.access(folder, os.W_OK):
        raise StorageError(f"{folder} is not writable", hint)


@contextmanager
def _bar(what: str, total: int) -> Iterator[Callable[[], None]]:
    """A bar on a terminal, else a line at the start and one at every tenth."""
    if stderr.is_terminal:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=stderr, transient=True) as bars:
            task = bars.add_task(what, total=total)
            yield lambda: bars.advance(task)
        return
    done = 0

    def advance() -> None:
        nonlocal done
        done += 1
        if done * 10 // total != (done - 1) * 10 // total:
            note(f"{what}: {done} of {total} pictures")

    note(f"{what}: {total} pictures")
    yield advance


def faults_body(embedded: EmbeddedPictures, pictures: Pictures) -> dict[str, Any]:
    """Pictures without an embedding, for JSON."""
    return {
        "faces_found": len(embedded.found),
        "several_faces": embedded.crowded,
        "no_face": [str(pictures.paths[i]) for i in embedded.faceless],
        "unreadable": [
            {"picture": str(pictures.paths[i]), "reason": reason}
            for i, reason in embedded.unreadable
        ],
    }


def say_faults(embedded: EmbeddedPictures, pictures: Pictures) -> None:
    """Pictures without an embedding, for a person."""
    stdout.print(
        plain(
            f"faces found in {len(embedded.found):,} of {len(pictures.paths):,} pictures; "
            f"{embedded.crowded:,} have several, the most central counts"
        )
    )
    lines = [f"no face: {pictures.paths[i]}" for i in embedded.faceless]
    lines += [f"not read: {reason}" for _, reason in embedded.unreadable]
    say_some(lines)


def say_some(lines: list[str]) -> None:
    """The first lines of a list, and how many more there are."""
    for line in lines[:NAMED]:
        stdout.print(plain(line))
    if len(lines) > NAMED:
        stdout.print(plain(f"... and {len(lines) - NAMED} more (--json lists all)"))


def suspects_body(suspects: tuple[SuspectPictures, ...]) -> list[dict[str, Any]]:
    """Suspicious pairs, for JSON."""
    return [
        {
            "score": round(s.score, 4),
            "comparisons": s.comparisons,
            "first": str(s.first),
            "second": str(s.second),
        }
        for s in suspects
    ]


def say_suspects(suspects: tuple[SuspectPictures, ...], comparisons: int) -> None:
    """Suspicious pairs, for a person, with the rule that found them."""
    if not suspects:
        stdout.print("no impostor score is higher than the fitted tail explains")
        return
    stdout.print(
        plain(
            f"{len(suspects)} pairs of people ({comparisons} comparisons) score higher than the "
            "fitted tail of impostors explains: among scores as high, at most 1 % would be "
            "strangers. Perhaps one person under two names, a picture in the wrong folder, or "
            "close relatives; look at them:"
        )
    )
    say_some([f"  {s.score:.3f}  {s.first}  {s.second}" for s in suspects])
