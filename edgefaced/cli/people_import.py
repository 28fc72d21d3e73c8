"""`edgefaced people import`: everybody of a table, with their photos."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from edgefaced.cli.context import CliContext, pass_context
from edgefaced.cli.engine import Engine, engine_options, open_engine
from edgefaced.cli.output import json_option, note, plain, print_json, stdout
from edgefaced.errors import GalleryMissing, Refused

if TYPE_CHECKING:
    from edgefaced.enrolment.import_people import ImportRules, RowReport
    from edgefaced.gallery.store import Gallery


@click.group()
def people() -> None:
    """Many people at once."""


@people.command("import")
@click.argument("table", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--photos",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder with the photos; without it, the table's own.",
)
@click.option("--dry-run", is_flag=True, help="Look at everything, store nothing.")
@click.option(
    "--update", is_flag=True, help="Take over groups and external ids of who is enrolled already."
)
@click.option("--largest", is_flag=True, help="Of several faces in a photo, take the largest.")
@click.option("--consent", metavar="NOTE", help="For rows that have no consent of their own.")
@engine_options
@json_option
@pass_context
def import_command(
    context: CliContext,
    table: Path,
    *,
    photos: Path | None,
    dry_run: bool,
    update: bool,
    largest: bool,
    consent: str | None,
    pack: str | None,
    detector_size: int | None,
    as_json: bool,
) -> int:
    """Enrol everybody of a CSV TABLE; say of each row whether it was kept and why not.

    The first line names the columns, in any order: name, external_id, groups (separated by ";"),
    photo (a file or folder in the folder of photos; several separated by ";") and consent. Only
    the name is needed: without a photo column, photos are the files or the folder named like the
    person or the external id. Separators "," ";" and tab, UTF-8 and Windows-1252 are understood.

    Each row is enrolled on its own, as `edgefaced enroll` would. Whoever is enrolled already is
    skipped, so an import that was interrupted, or whose refused photos were replaced, is run again.

    Exit 0 when every row was kept, skipped or updated, 1 when some were refused, 2 when the file is
    no table of people.
    """
    from edgefaced.enrolment.import_people import import_people, photo_folder_of
    from edgefaced.enrolment.roster import read_roster

    roster = read_roster(table)
    folder = photo_folder_of(table, photos)
    if roster.ignored:
        note(f"columns that mean nothing here: {', '.join(roster.ignored)}")
    reports = []
    with (
        open_engine(context, pack=pack, detector_size=detector_size) as engine,
        _gallery(context, dry_run=dry_run) as gallery,
    ):
        rules = _rules(engine, dry_run=dry_run, update=update, largest=largest, consent=consent)
        for report in import_people(
            roster, folder, gallery=gallery, finder=engine.finder, rules=rules
        ):
            reports.append(report)
            if not as_json:
                stdout.print(plain(_line(report)))
    return _say(reports, dry_run=dry_run, as_json=as_json)


def _rules(
    engine: Engine, *, dry_run: bool, update: bool, largest: bool, consent: str | None
) -> ImportRules:
    from edgefaced.enrolment.enrol import EnrolmentPolicy
    from edgefaced.enrolment.examine import FaceRule
    from edgefaced.enrolment.import_people import ImportRules

    settings = engine.settings
    policy = EnrolmentPolicy(
        limits=settings.quality.limits(),
        threshold=lambda templates: engine.threshold(templates).threshold,
        minimum_margin=settings.recognition.minimum_margin,
        faces=FaceRule(largest=largest),
        keep_pictures=settings.gallery.keep_pictures,
    )
    return ImportRules(policy, dry_run=dry_run, update=update, consent=consent)


@contextmanager
def _gallery(context: CliContext, *, dry_run: bool) -> Iterator[Gallery]:
    """The gallery; for a dry run where there is none, an empty one that is gone afterwards."""
    from edgefaced.gallery.store import Gallery

    places = context.places
    try:
        opened = Gallery.open(places.gallery_file, places.key_file, create=not dry_run)
    except GalleryMissing:
        with tempfile.TemporaryDirectory(prefix="edgefaced-") as folder:
            file, key = Path(folder, "gallery.db"), Path(folder, "gallery.key")
            with Gallery.open(file, key, create=True) as empty:
                yield empty
        return
    with opened:
        yield opened


def _line(report: RowReport) -> str:
    who = f"line {report.line}" + (f": {report.name}" if report.name else "")
    poor = Counter(p.gate for p in report.pictures if not p.kept)
    lacking = ", ".join(f"{gate} {count}" for gate, count in poor.most_common())
    kept = report.outcome.value == "kept"
    return f"{who}: {report.outcome}, {report.reason}" + (
        f" ({lacking})" if kept and lacking else ""
    )


def _say(reports: list[RowReport], *, dry_run: bool, as_json: bool) -> int:
    from edgefaced.enrolment.import_people import RowOutcome, row_body

    counts = dict.fromkeys(RowOutcome, 0) | Counter(r.outcome for r in reports)
    refused = counts[RowOutcome.REFUSED]
    if as_json:
        totals = {outcome.value: count for outcome, count in counts.items()}
        rows = [row_body(report) for report in reports]
        print_json({"rows": rows, "totals": totals, "dry_run": dry_run}, ok=not refused)
    else:
        said = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)
        note(f"{said or 'the table is empty'}" + ("; nothing was stored" if dry_run else ""))
    return Refused.exit_code if refused else 0
