"""`calibrate-set` and `drift`: which pictures networks are calibrated with."""

from __future__ import annotations

import datetime
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import cv2
from rich.table import Table

from edgefaced.cli.output import json_option, note, plain, print_json, stdout, warn
from edgefaced.cli.progress import with_bar
from edgefaced.errors import Refused, StorageError, UsageError
from edgefaced.gallery.export_file import write_export
from edgefaced.pictures.find import find_pictures
from edgefaced.recognition.recogniser import Recogniser, open_recogniser
from edgefaced_convert.calset import CalibrationSet, Part, read_set, write_set
from edgefaced_convert.coverage import Coverage, contact_sheet, coverage_of
from edgefaced_convert.gathering import Seen, choose, faces_of, frames_of, look_at
from edgefaced_convert.packs import DETECTOR_SIZE_PX, open_pack
from edgefaced_convert.statistics import (
    FEWEST,
    MOVED,
    Statistics,
    drift_between,
    read_statistics,
    statistics_of,
    to_json,
)

SHOWN_FOLDERS = 3

FOLDERS = click.argument(
    "folders", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True)
)
PACK = click.option("--pack", default="mobilefacenet", show_default=True, help="Finds the faces.")
PASSPHRASE = click.option(
    "--passphrase-file", type=click.Path(path_type=Path, dir_okay=False), help="Its first line."
)


@click.group("calibrate-set")
def calibrate_set() -> None:
    """Sets of pictures that networks are quantised and proved with."""


@calibrate_set.command()
@FOLDERS
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True)
@PACK
@click.option("--count", default=200, show_default=True, help="Faces, and frames, to choose.")
@click.option("--source", default="", help="Where the pictures are from, for the record.")
@click.option("--from-device", is_flag=True, help="They show people who passed a device.")
@click.option("--consent", default="", help="Who agreed to this use, when; for --from-device.")
@PASSPHRASE
@click.option("--sheet", type=click.Path(path_type=Path, dir_okay=False), help="A picture of all.")
@click.option("--statistics", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--force", is_flag=True, help="Overwrite what is there.")
@json_option
def build(
    folders: tuple[Path, ...],
    out: Path,
    pack: str,
    count: int,
    source: str,
    from_device: bool,
    consent: str,
    passphrase_file: Path | None,
    sheet: Path | None,
    statistics: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Chooses pictures of FOLDERS, balanced over light, pose and distance, into one file."""
    passphrase = read_passphrase(passphrase_file)
    if from_device and (passphrase is None or not consent.strip()):
        raise UsageError(
            "pictures of people at a device need --consent and --passphrase-file",
            "say who agreed and when; the set is then kept sealed",
        )
    for path in (out, sheet, statistics):
        if path is not None and path.exists() and not force:  # before anything that takes minutes
            raise Refused(f"{path} exists already", "choose another name or --force")
    with _finder(pack) as recogniser:
        pictures = find_pictures(folders)
        seen = _look(recogniser, pictures)
        if not seen:
            raise UsageError(f"no face in {len(pictures)} pictures", "name folders with people")
        chosen = choose(seen, {Part.CALIBRATE: count, Part.HELD_OUT: count // 2})
        faces, frames = faces_of(recogniser, chosen), frames_of(chosen)
    calibration = CalibrationSet(
        source=source or _named(folders),
        consent=consent.strip(),
        made=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        faces=tuple(faces),
        frames=tuple(frames),
        statistics=statistics_of([one.figures for one in chosen]),
    )
    size_bytes = write_set(out, calibration, passphrase, overwrite=force)
    if statistics is not None:
        write_export(statistics, to_json(calibration.statistics).encode(), overwrite=force)
    _say(calibration, as_json, {"pictures": len(pictures), "bytes": size_bytes})
    _write_sheet(sheet, calibration, force)


@calibrate_set.command("show")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@PASSPHRASE
@click.option("--sheet", type=click.Path(path_type=Path, dir_okay=False), help="A picture of all.")
@click.option("--force", is_flag=True)
@json_option
def show_set(
    file: Path, passphrase_file: Path | None, sheet: Path | None, force: bool, as_json: bool
) -> None:
    """What a set covers, and a contact sheet of it."""
    calibration = read_set(file, read_passphrase(passphrase_file))
    _say(calibration, as_json, {})
    _write_sheet(sheet, calibration, force)


@calibrate_set.command("statistics")
@FOLDERS
@PACK
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True)
@click.option("--force", is_flag=True)
def statistics_command(folders: tuple[Path, ...], pack: str, out: Path, force: bool) -> None:
    """Only the figures of the faces in FOLDERS: no picture, nothing to recognise anybody by."""
    with _finder(pack) as recogniser:
        measured = [one.figures for one in _look(recogniser, find_pictures(folders))]
    found = statistics_of(measured)
    write_export(out, to_json(found).encode(), overwrite=force)
    note(f"{out}: {found.faces} faces")


@click.command()
@click.argument("reference", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("recent", type=click.Path(path_type=Path, dir_okay=False))
@PASSPHRASE
@json_option
@click.pass_context
def drift(
    ctx: click.Context,
    reference: Path,
    recent: Path,
    passphrase_file: Path | None,
    as_json: bool,
) -> None:
    """Have RECENT faces left what REFERENCE covers? Exit code 1 where they have.

    REFERENCE is a set or a file of statistics, RECENT a file of statistics.
    """
    before = _statistics(reference, passphrase_file)
    after = _statistics(recent, passphrase_file)
    found = drift_between(before, after)
    left = [one for one in found if one.left]
    if min(before.faces, after.faces) < FEWEST:
        warn(f"fewer than {FEWEST} faces say little: {before.faces} and {after.faces}")
    if as_json:
        figures = {
            one.figure: {
                "uncovered": one.uncovered,
                "index": one.index,
                "mean": one.mean,
                "recent": one.recent_mean,
            }
            for one in found
        }
        print_json({"left": [one.figure for one in left], "figures": figures}, ok=not left)
    else:
        table = Table(box=None, pad_edge=False)
        for title in ("figure", "not covered", "index", "mean of set", "of recent", ""):
            table.add_column(title)
        for one in found:
            word = "LEFT" if one.left else "moved" if one.index >= MOVED else ""
            means = (f"{one.mean:.3g}", f"{one.recent_mean:.3g}")
            table.add_row(one.figure, f"{one.uncovered:.1%}", f"{one.index:.2f}", *means, word)
        stdout.print(table)
        stdout.print("build a new set from recent pictures" if left else "the set still fits")
    ctx.exit(1 if left else 0)


def _named(folders: tuple[Path, ...]) -> str:
    names = ", ".join(folder.name for folder in folders[:SHOWN_FOLDERS])
    more = len(folders) - SHOWN_FOLDERS
    return f"{names} and {more} more" if more > 0 else names


def _finder(pack: str) -> Recogniser:
    opened = open_pack(pack)
    threads = max((os.cpu_count() or 2) // 2, 1)
    return open_recogniser(
        opened.store, opened.manifest, detector_size=DETECTOR_SIZE_PX, threads=threads
    )


def _look(recogniser: Recogniser, pictures: Sequence[Path]) -> list[Seen]:
    return [one for path in with_bar(pictures, "looking") for one in look_at(recogniser, path)]


def read_passphrase(file: Path | None) -> str | None:
    if file is None:
        return None
    try:
        return file.read_text(encoding="utf-8").partition("\n")[0]
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: {error}", "its first line is the passphrase") from error


def _statistics(path: Path, passphrase_file: Path | None) -> Statistics:
    if path.suffix == ".json":
        return read_statistics(path)
    return read_set(path, read_passphrase(passphrase_file)).statistics


def _write_sheet(path: Path | None, calibration: CalibrationSet, force: bool) -> None:
    if path is None:
        return
    suffix = path.suffix if path.suffix in (".png", ".jpg") else ".jpg"
    done, data = cv2.imencode(suffix, contact_sheet(calibration.faces))
    if not done:
        raise StorageError(f"{path}: no picture could be made")
    write_export(path, bytes(data), overwrite=force)


def _say(calibration: CalibrationSet, as_json: bool, body: dict[str, Any]) -> None:
    parts = {
        part: coverage_of(
            one.figures for one in calibration.faces if one.part is part and one.figures
        )
        for part in Part
    }
    thin = parts[Part.CALIBRATE].thin
    if as_json:
        counts = {part.value: _counts(parts[part]) for part in Part}
        frames = len(calibration.frames)
        print_json({**body, "faces": counts, "frames": frames, "thin": [c.value for c in thin]})
        return
    table = Table(box=None, pad_edge=False)
    for title in ("condition", *Part):
        table.add_column(str(title), justify="left" if title == "condition" else "right")
    for condition in parts[Part.CALIBRATE].counts:
        cells = (str(parts[part].counts[condition]) for part in Part)
        table.add_row(condition.value, *cells)
    stdout.print(table)
    stdout.print(plain(f"{len(calibration.frames)} frames; from {calibration.source}"))
    for condition in thin:
        warn(f"few or no faces of {condition.value!r}: the network is not calibrated for it")


def _counts(coverage: Coverage) -> dict[str, int]:
    return {condition.value: count for condition, count in coverage.counts.items()}
