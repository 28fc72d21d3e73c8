"""`edgefaced enroll`: a person from pictures, with a word on every picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from edgefaced.cli.context import CliContext, pass_context
from edgefaced.cli.engine import engine_options, open_engine
from edgefaced.cli.numbers import NumberRange
from edgefaced.cli.output import fail, json_option, note, plain, print_json, stdout
from edgefaced.cli.progress import with_bar
from edgefaced.enrolment.report import report_body
from edgefaced.errors import UsageError

if TYPE_CHECKING:
    from edgefaced.enrolment.report import EnrolmentReport, PictureReport


@click.command()
@click.argument("name")
@click.argument(
    "pictures",
    metavar="PICTURE|FOLDER...",
    nargs=-1,
    type=click.Path(path_type=Path),
)
@click.option("--camera", is_flag=True, help="From the camera, with guidance, not from pictures.")
@click.option(
    "--seconds",
    type=NumberRange(1, 300),
    default=20.0,
    show_default=True,
    help="How long --camera takes at most.",
)
@click.option("--add", is_flag=True, help="Add to a person who is enrolled.")
@click.option("--largest", is_flag=True, help="Of several faces, take the largest.")
@click.option(
    "--face", type=click.IntRange(1), metavar="N", help="Take face N, counted from the left."
)
@click.option("--consent", metavar="NOTE", help="What the person agreed to, kept with the time.")
@click.option(
    "--keep-pictures", is_flag=True, help="Keep the 112x112 faces, encrypted, for a later model."
)
@click.option(
    "--allow-duplicate", is_flag=True, help="Also where the face is enrolled under another name."
)
@engine_options
@json_option
@pass_context
def enroll(
    context: CliContext,
    name: str,
    pictures: tuple[Path, ...],
    *,
    camera: bool,
    seconds: float,
    add: bool,
    largest: bool,
    face: int | None,
    consent: str | None,
    keep_pictures: bool,
    allow_duplicate: bool,
    pack: str | None,
    detector_size: int | None,
    as_json: bool,
) -> int:
    """Enrol NAME from pictures, or with --camera from the camera; say why each was kept or not.

    Exit 0 when some were kept, 1 when none was good enough, 4 when none could be read.
    """
    if largest and face is not None:
        raise UsageError("--largest and --face exclude each other")
    if camera:
        if pictures or largest or face is not None or pack or detector_size or keep_pictures:
            raise UsageError(
                "--camera takes no pictures and no option about pictures or models",
                "the configuration says which model, and whether pictures are kept",
            )
        from edgefaced.cli.enroll_camera import enroll_from_camera

        return enroll_from_camera(
            context,
            name,
            seconds=seconds,
            consent=consent,
            add=add,
            allow_duplicate=allow_duplicate,
            as_json=as_json,
        )
    if not pictures:
        raise UsageError("no picture was given", "name pictures or a folder, or take --camera")

    from edgefaced.enrolment.enrol import EnrolmentPolicy, enrol
    from edgefaced.enrolment.examine import FaceRule
    from edgefaced.gallery.store import Gallery
    from edgefaced.pictures.find import find_pictures

    found = find_pictures(pictures)
    places = context.places
    with (
        open_engine(context, pack=pack, detector_size=detector_size) as engine,
        Gallery.open(places.gallery_file, places.key_file, create=True) as gallery,
    ):
        settings = engine.settings
        policy = EnrolmentPolicy(
            limits=settings.quality.limits(),
            threshold=lambda templates: engine.threshold(templates).threshold,
            minimum_margin=settings.recognition.minimum_margin,
            faces=FaceRule(face=face, largest=largest),
            extend=add,
            allow_duplicate=allow_duplicate,
            keep_pictures=keep_pictures or settings.gallery.keep_pictures,
        )
        report = enrol(
            name,
            with_bar(found, "examining"),
            gallery=gallery,
            finder=engine.finder,
            policy=policy,
            consent=consent,
        )
    return _say(report, as_json=as_json)


def _say(report: EnrolmentReport, *, as_json: bool) -> int:
    body = report_body(report)
    if not as_json:
        for picture in report.pictures:
            stdout.print(plain(_line(picture)))
    if report.refusal is not None:
        return fail(report.refusal, as_json=as_json, body=body)
    if as_json:
        print_json(body)
        return 0
    person = report.person
    if person is not None:
        stdout.print(
            plain(
                f"{person.name} is enrolled: {report.kept} of {len(report.pictures)} pictures "
                f"kept, {person.templates} templates"
            )
        )
    lowest = report.lowest_without_itself
    if lowest is not None and lowest < report.threshold:
        note(
            f"one picture would not be recognised by the others ({lowest:.2f}, "
            f"threshold {report.threshold:.2f}): more pictures help"
        )
    return 0


def _line(picture: PictureReport) -> str:
    said = "kept" if picture.kept else picture.gate
    return f"{picture.path}: {said}" + (f" ({picture.detail})" if picture.detail else "")
