"""`edgefaced identify`: every face of pictures and videos, and who it is taken for."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from pathlib import Path

import click

from edgefaced.cli.context import CliContext, pass_context
from edgefaced.cli.engine import engine_options, open_engine
from edgefaced.cli.output import json_option
from edgefaced.cli.people import open_gallery
from edgefaced.cli.progress import with_bar
from edgefaced.errors import DependencyMissing, GalleryMissing, PictureError, UsageError


@click.command()
@click.argument(
    "files",
    metavar="PICTURE|VIDEO|FOLDER...",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path),
)
@click.option(
    "--output",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Write annotated copies of the pictures and videos there.",
)
@click.option("--json-lines", is_flag=True, help="Print one JSON document per picture or frame.")
@engine_options
@json_option
@pass_context
def identify(
    context: CliContext,
    files: tuple[Path, ...],
    *,
    output: Path | None,
    json_lines: bool,
    pack: str | None,
    detector_size: int | None,
    as_json: bool,
) -> int:
    """Say of every face who it is taken for, at which score, and else why not.

    Exit 0 when somebody known was seen, 1 when nobody was, 4 when nothing could be read.
    """
    if as_json and json_lines:
        raise UsageError("--json and --json-lines exclude each other")

    from edgefaced.cli.identify_files import Identifier
    from edgefaced.cli.identify_report import InLines, InOneDocument, InWords, Speaker
    from edgefaced.gallery.index import open_index
    from edgefaced.pictures.find import find_pictures
    from edgefaced.recognition.identification import Rules

    found = find_pictures(files, videos=True)
    if not found:
        raise PictureError("no picture and no video there", "name files, or a folder with some")
    album = None
    if output is not None:
        from edgefaced.cli.album import Album

        album = Album(output)
    with ExitStack() as stack:
        engine = stack.enter_context(open_engine(context, pack=pack, detector_size=detector_size))
        settings = engine.settings
        gallery = index = None
        with suppress(GalleryMissing):
            gallery = stack.enter_context(open_gallery(context))
            index = open_index(gallery, engine.recogniser.model_id, settings.gallery.index)
            stack.callback(index.close)
        templates = 0 if index is None else index.size
        choice = engine.threshold(templates)
        limits = settings.quality.limits()
        rules = Rules(choice.threshold, settings.recognition.minimum_margin, limits)
        identifier = Identifier(engine, gallery, index, rules, album)
        speaker: Speaker = InWords(limits)
        if as_json or json_lines:
            speaker = InOneDocument() if as_json else InLines()
        speaker.begin(choice, templates)
        known, errors = 0, []
        for path in with_bar(found, "identifying") if as_json else found:
            try:
                for frame in identifier.look(path):
                    known += frame.known
                    speaker.frame(path, frame)
            except (PictureError, DependencyMissing) as error:
                errors.append(error)
                speaker.failed(path, error)
    return speaker.finish(known, errors[0] if len(errors) == len(found) else None)
