"""`edgefaced gallery`: the gallery as a whole."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.progress import Progress

from edgefaced.cli.context import CliContext, pass_context
from edgefaced.cli.engine import open_engine
from edgefaced.cli.output import json_option, note, plain, print_json, stderr, stdout
from edgefaced.cli.people import open_gallery, scrub_status
from edgefaced.errors import GalleryDamaged, StorageError, UsageError
from edgefaced.gallery.check import check_gallery, figures_of
from edgefaced.gallery.export_file import read_export, write_export
from edgefaced.gallery.rekey import rotate_key
from edgefaced.gallery.store import Gallery
from edgefaced.gallery.transfer import Conflicts, export_gallery, import_gallery, open_export

Command = TypeVar("Command", bound=Callable[..., Any])

MOST_FAULTS_SHOWN = 20


def passphrase_option(command: Command) -> Command:
    """Adds `--passphrase-file`; a passphrase never stands on a command line, where all can see."""
    return click.option(
        "--passphrase-file",
        type=click.Path(path_type=Path, allow_dash=True),
        help="File whose first line is the passphrase; - reads standard input. Else it is asked.",
    )(command)


@click.group()
def gallery() -> None:
    """The gallery as a whole: figures, check, backup, key, model."""


@gallery.command()
@json_option
@pass_context
def info(context: CliContext, *, as_json: bool) -> None:
    """Where the gallery is and what it holds; nothing is decrypted."""
    places = context.places
    with open_gallery(context) as opened:
        figures = figures_of(opened)
    body: dict[str, Any] = {
        "gallery_file": str(places.gallery_file),
        "key_file": str(places.key_file),
        "size_bytes": places.gallery_file.stat().st_size,
        "schema_version": figures.schema_version,
        "revision": figures.revision,
        "people": figures.people,
        "templates": figures.templates,
        "pictures": figures.pictures,
        "scrub_pending": figures.scrub_pending,
    }
    if as_json:
        print_json(body)
        return
    models = (f"{count} of {model}" for model, count in figures.templates.items())
    body["templates"] = ", ".join(models) or 0
    body["scrub_pending"] = "yes: run `edgefaced gallery scrub`" if body["scrub_pending"] else "no"
    for key, value in body.items():
        stdout.print(plain(f"{key.replace('_', ' ')}: {value}"))


@gallery.command()
@json_option
@pass_context
def check(context: CliContext, *, as_json: bool) -> int:
    """Check the file's structure and open every record; exit 6 where one is damaged."""
    with open_gallery(context) as opened:
        report = check_gallery(opened)
    counts = {
        "people": report.people,
        "templates": report.templates,
        "pictures": report.pictures,
    }
    if as_json:
        faults = [{"what": f.what, "person_id": f.person_id or None} for f in report.faults]
        print_json({**counts, "faults": faults}, ok=not faults)
    else:
        for fault in report.faults[:MOST_FAULTS_SHOWN]:
            whose = f" (of person {fault.person_id})" if fault.person_id else ""
            stdout.print(plain(f"{fault.what}{whose}"))
        verdict = f"{len(report.faults)} faults" if report.faults else "in order"
        held = ", ".join(f"{count} {what}" for what, count in counts.items())
        stdout.print(plain(f"{verdict}: {held}"))
        if report.faults:
            note("edgefaced: remove the people named here by id and enrol them again")
    return GalleryDamaged.exit_code if report.faults else 0


@gallery.command("export")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--force", is_flag=True, help="Overwrite FILE.")
@passphrase_option
@json_option
@pass_context
def export_file(
    context: CliContext, file: Path, *, force: bool, passphrase_file: Path | None, as_json: bool
) -> None:
    """Write everybody into an encrypted FILE, for a backup or another device."""
    with open_gallery(context) as opened:
        content = export_gallery(opened, passphrase(passphrase_file, new=True))
        people = figures_of(opened).people
    write_export(file, content, overwrite=force)
    if as_json:
        print_json({"file": str(file), "people": people, "size_bytes": len(content)})
        return
    stdout.print(plain(f"{people} people, {len(content)} bytes: {file}"))


@gallery.command("import")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--replace", "conflicts", flag_value="replace", help="Who is enrolled gives way.")
@click.option("--skip", "conflicts", flag_value="skip", help="Who is enrolled stays as here.")
@passphrase_option
@json_option
@pass_context
def import_file(
    context: CliContext,
    file: Path,
    *,
    conflicts: Conflicts | None,
    passphrase_file: Path | None,
    as_json: bool,
) -> int:
    """Take over the people of an exported FILE: all of them or, where one is enrolled, none."""
    arrivals = open_export(read_export(file), passphrase(passphrase_file, new=False), str(file))
    places = context.places
    with Gallery.open(places.gallery_file, places.key_file, create=True) as opened:
        report = import_gallery(opened, arrivals, conflicts or "refuse")
    if as_json:
        print_json(
            {
                "added": list(report.added),
                "replaced": list(report.replaced),
                "skipped": list(report.skipped),
                "scrubbed": report.scrubbed,
            }
        )
    else:
        stdout.print(
            plain(
                f"{len(report.added)} added, {len(report.replaced)} replaced, "
                f"{len(report.skipped)} skipped"
            )
        )
    return scrub_status(scrubbed=report.scrubbed)


@gallery.command("re-embed")
@click.option(
    "--drop-others",
    is_flag=True,
    help="People without kept pictures lose their templates and must be enrolled again.",
)
@click.option("--pack", help="Model pack instead of the configured one.")
@json_option
@pass_context
def re_embed_kept(
    context: CliContext, *, drop_others: bool, pack: str | None, as_json: bool
) -> int:
    """Move the gallery to another pack's model, from the pictures that were kept."""
    from edgefaced.gallery.reembed import re_embed

    with (
        open_gallery(context) as opened,
        open_engine(context, pack=pack) as engine,
        people_bar("embedding") as progress,
    ):
        embedder = engine.recogniser.embedder
        report = re_embed(opened, embedder, drop_others=drop_others, progress=progress)
    if as_json:
        print_json(
            {
                "model_id": embedder.model_id,
                "people": report.people,
                "templates": report.templates,
                "without_pictures": list(report.without_pictures),
                "scrubbed": report.scrubbed,
            }
        )
    else:
        stdout.print(
            plain(
                f"{report.people} people, {report.templates} templates are now of "
                f"{embedder.model_id}"
            )
        )
        for name in report.without_pictures:
            stdout.print(plain(f"enrol again with --add: {name}"))
    return scrub_status(scrubbed=report.scrubbed)


@gallery.command("rotate-key")
@json_option
@pass_context
def rotate(context: CliContext, *, as_json: bool) -> int:
    """Encrypt everything with a new key; copies of the old files become unreadable with it."""
    with open_gallery(context) as opened:
        scrubbed = rotate_key(opened)
    if as_json:
        print_json({"key_file": str(context.places.key_file), "scrubbed": scrubbed})
    else:
        stdout.print(plain(f"a new key is in {context.places.key_file}"))
    return scrub_status(scrubbed=scrubbed)


@gallery.command()
@json_option
@pass_context
def scrub(context: CliContext, *, as_json: bool) -> int:
    """Overwrite whatever removed or changed records left in the gallery's files."""
    with open_gallery(context) as opened:
        scrubbed = opened.scrub()
    if as_json:
        print_json({"scrubbed": scrubbed})
    elif scrubbed:
        stdout.print("nothing is left of removed records")
    return scrub_status(scrubbed=scrubbed)


def passphrase(file: Path | None, *, new: bool) -> str:
    """The passphrase from a file, standard input or a prompt. Raises UsageError, StorageError."""
    if file is None:
        if not sys.stdin.isatty():
            raise UsageError("nobody can be asked for a passphrase here", "use --passphrase-file")
        answer = click.prompt("Passphrase", hide_input=True, confirmation_prompt=new, err=True)
        return str(answer)
    return first_line(file, "passphrase")


def first_line(file: Path, what: str) -> str:
    """A secret from a file or, as "-", standard input. Raises UsageError, StorageError."""
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except OSError as error:
        raise StorageError(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise UsageError(f"the {what} in {file} is not UTF-8 text") from None
    first = text.split("\n", 1)[0].removesuffix("\r")
    if not first:
        raise UsageError(f"the first line of {file} is empty", f"it holds the {what}")
    return first


@contextmanager
def people_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Progress over people on stderr: a bar on a terminal, else a line at the beginning."""
    if not stderr.is_terminal:
        yield lambda done, of: note(f"{what}: {of} people") if done == 0 else None
        return
    with Progress(console=stderr, transient=True) as bars:
        task = bars.add_task(what)
        yield lambda done, of: bars.update(task, completed=done, total=of)
