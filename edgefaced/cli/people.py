"""`edgefaced list`, `show`, `rename`, `remove`: the enrolled people."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable

import click
from rich.table import Table

from edgefaced.cli.context import CliContext, pass_context
from edgefaced.cli.output import json_option, note, plain, print_json, stdout
from edgefaced.errors import (
    EdgefacedError,
    GalleryBusy,
    GalleryDamaged,
    GalleryMissing,
    Refused,
    UsageError,
)
from edgefaced.evidence.folder import forget
from edgefaced.gallery.document import person_body
from edgefaced.gallery.records import Removal
from edgefaced.gallery.store import Gallery

NOBODY = "nobody is enrolled; `edgefaced enroll NAME PICTURES` is the start"
REMAINS = (
    "the remains, which are encrypted, could not be overwritten yet: another process is reading, "
    "or the disk is full; run `edgefaced gallery scrub`"
)


@click.command("list")
@json_option
@pass_context
def list_people(context: CliContext, *, as_json: bool) -> None:
    """Everybody who is enrolled."""
    try:
        with open_gallery(context) as gallery:
            people = gallery.people()
    except GalleryMissing:
        people = []
    if as_json:
        print_json({"people": [person_body(person) for person in people]})
        return
    if not people:
        note(NOBODY)
        return
    table = Table("name", "templates", "model", "enrolled", "consent", box=None, pad_edge=False)
    for person in people:
        table.add_row(
            plain(person.name),
            str(person.templates) if person.templates else "none: enrol again",
            plain(", ".join(person.model_ids) or "-"),
            f"{person.enrolled_at.astimezone():%Y-%m-%d %H:%M}",
            plain(_first_line(person.consent.note)) if person.consent else "-",
        )
    stdout.print(table)


@click.command()
@click.argument("name")
@json_option
@pass_context
def show(context: CliContext, name: str, *, as_json: bool) -> None:
    """All that is known of one person, by name or id."""
    with open_for_somebody(context, name) as gallery:
        person = gallery.find(name)
        if person is None:
            raise not_enrolled(gallery, name)
    if as_json:
        print_json({"person": person_body(person)})
        return
    lines = {
        "name": person.name,
        "id": person.id,
        "templates": str(person.templates) if person.templates else "none: enrol again",
        "model": ", ".join(person.model_ids) or "-",
        "enrolled": f"{person.enrolled_at.astimezone():%Y-%m-%d %H:%M:%S %z}",
        "external id": person.details.external_id or "-",
        "groups": ", ".join(person.details.groups) or "-",
        "consent": "-",
    }
    if person.consent is not None:
        lines["consent"] = person.consent.note.replace("\n", " / ")
        lines["consent given"] = f"{person.consent.at.astimezone():%Y-%m-%d %H:%M:%S %z}"
    for key, value in lines.items():
        stdout.print(plain(f"{key}: {value}"))


@click.command()
@click.argument("old")
@click.argument("new")
@json_option
@pass_context
def rename(context: CliContext, old: str, new: str, *, as_json: bool) -> None:
    """Give a person, by name or id, another name."""
    with open_for_somebody(context, old) as gallery:
        person_id = gallery.id_of(old)
        if person_id is None:
            raise not_enrolled(gallery, old)
        person = gallery.rename(person_id, new)
    if as_json:
        print_json({"person": person_body(person)})
        return
    stdout.print(plain(f"{old} is now {person.name}"))


@click.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--all", "everybody", is_flag=True, help="Everybody.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@pass_context
def remove(
    context: CliContext, names: tuple[str, ...], *, everybody: bool, yes: bool, as_json: bool
) -> int:
    """Remove people, by name or id, with every trace in the gallery's files. All or none."""
    if bool(names) == everybody:
        raise UsageError("name the people to remove, or say --all")
    try:
        gallery = open_gallery(context)
    except GalleryMissing:
        if names:
            raise _nobody_of(names[0]) from None
        return _say_removed({}, Removal(0, 0, 0, scrubbed=True), 0, as_json=as_json)
    with gallery:
        chosen = (
            {person_id: person_id for person_id in gallery.ids()}
            if everybody
            else {_id_of(gallery, name): name for name in names}
        )
        who = f"everybody ({len(chosen)})" if everybody else ", ".join(chosen.values())
        if chosen and not yes:
            _ask(who)
        removal = gallery.remove(*chosen)
    _say_what_is_kept(context, chosen)
    of_events = forget(context.places.pictures_dir, chosen)
    return _say_removed(chosen, removal, of_events, as_json=as_json)


def _say_what_is_kept(context: CliContext, people: Iterable[str]) -> None:
    """Events and attendance may have to be kept; whoever removes somebody should know of them."""
    from edgefaced.ledger.store import Ledger

    try:
        with Ledger.open(context.places.events_file) as ledger:
            kept = [person_id for person_id in people if ledger.knows_person(person_id)]
    except EdgefacedError:
        return
    for person_id in kept:
        note(
            f"there are events of {person_id}, without a name: "
            f"`edgefaced events purge --person {person_id}` takes them out"
        )


def _say_removed(people: dict[str, str], removal: Removal, of_events: int, *, as_json: bool) -> int:
    if as_json:
        print_json(
            {
                "person_ids": list(people),
                "templates": removal.templates,
                "pictures": removal.pictures,
                "event_pictures": of_events,
                "scrubbed": removal.scrubbed,
            }
        )
    else:
        held = f"{removal.templates} templates, {removal.pictures + of_events} pictures"
        stdout.print(plain(f"removed {', '.join(people.values()) or 'nobody'}: {held}"))
    return scrub_status(scrubbed=removal.scrubbed)


def scrub_status(*, scrubbed: bool) -> int:
    """0, or the exit code and the line for remains that are still to be overwritten."""
    if scrubbed:
        return 0
    note(f"edgefaced: {REMAINS}")
    return GalleryBusy.exit_code


def open_gallery(context: CliContext) -> Gallery:
    """This process's gallery; raises GalleryMissing where nobody was ever enrolled."""
    return Gallery.open(context.places.gallery_file, context.places.key_file)


def open_for_somebody(context: CliContext, name: str) -> Gallery:
    """The gallery, for a person who must be in it. Raises Refused where there is none."""
    try:
        return open_gallery(context)
    except GalleryMissing:
        raise _nobody_of(name) from None


def not_enrolled(gallery: Gallery, name: str) -> Refused:
    """The answer for a name that nobody has, with the names that are near it."""
    try:
        known = {person.name.casefold(): person.name for person in gallery.people()}
    except GalleryDamaged:
        known = {}
    wanted = name.casefold()
    near = [n for n in known if wanted in n] or difflib.get_close_matches(wanted, known)
    hint = (
        f"near it: {', '.join(known[n] for n in near[:3])}"
        if near
        else "`edgefaced list` shows who"
    )
    return Refused(f"{name} is not enrolled", hint)


def _id_of(gallery: Gallery, name: str) -> str:
    person_id = gallery.id_of(name)
    if person_id is None:
        raise not_enrolled(gallery, name)
    return person_id


def _nobody_of(name: str) -> Refused:
    return Refused(f"{name} is not enrolled", NOBODY)


def _ask(who: str) -> None:
    if not sys.stdin.isatty():
        raise UsageError("nobody can be asked here", "say --yes to remove without asking")
    click.confirm(
        f"Remove {plain(who).plain} with all templates and pictures?", abort=True, err=True
    )


def _first_line(text: str) -> str:
    first, *rest = text.splitlines()
    return f"{first} …" if rest else first
