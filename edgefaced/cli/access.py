"""`edgefaced access`: who may open which door, and when."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from edgefaced.cli.context import CliContext, pass_context
from edgefaced.cli.output import json_option, note, plain, print_json, stdout
from edgefaced.cli.people import not_enrolled, open_for_somebody, open_gallery
from edgefaced.config.doors import EPOCH, day_number
from edgefaced.errors import GalleryMissing, Refused, UsageError

if TYPE_CHECKING:
    from edgefaced.config.settings import Settings
    from edgefaced.core.access import Grant
    from edgefaced.gallery.store import Gallery

door_option = click.option("--door", required=True, help="A door of the configuration.")


@click.group()
def access() -> None:
    """Who may open which door, and when."""


@access.command()
@click.argument("name")
@door_option
@click.option("--schedule", help="Only by this schedule of the configuration.")
@click.option("--from", "first", metavar="YYYY-MM-DD", help="Not before this day.")
@click.option("--until", "last", metavar="YYYY-MM-DD", help="Not after this day.")
@json_option
@pass_context
def grant(
    context: CliContext,
    name: str,
    *,
    door: str,
    schedule: str | None,
    first: str | None,
    last: str | None,
    as_json: bool,
) -> None:
    """Let a person, by name or id, open a door; what they had for that door is replaced."""
    from dataclasses import replace

    from edgefaced.core.access import Grant
    from edgefaced.gallery.access import access_of, set_access

    settings = context.settings()
    _known("door", door, settings.doors)
    if schedule is not None:
        _known("schedule", schedule, settings.schedules)
    given = Grant(door, schedule, _day("--from", first), _day("--until", last))
    if None not in (given.first_day, given.last_day) and _backwards(given):
        raise UsageError(f"--until {last} is before --from {first}")
    with open_for_somebody(context, name) as gallery:
        person_id = _id(gallery, name)
        had = access_of(gallery, person_id)
        kept = tuple(g for g in had.grants if g.door != door)
        set_access(gallery, person_id, replace(had, grants=(*kept, given)))
    _say({"person_id": person_id, "grant": _body(given)}, f"{name}: {_words(given)}", as_json)


@access.command()
@click.argument("name")
@click.option("--door", help="This door only; else all of them.")
@json_option
@pass_context
def revoke(context: CliContext, name: str, *, door: str | None, as_json: bool) -> None:
    """Take back what a person was granted; groups go on granting. Exit 1 where there is nothing."""
    from dataclasses import replace

    from edgefaced.gallery.access import access_of, set_access

    with open_for_somebody(context, name) as gallery:
        person_id = _id(gallery, name)
        had = access_of(gallery, person_id)
        kept = tuple(g for g in had.grants if door is not None and g.door != door)
        if kept == had.grants:
            raise Refused(f"{name} has no grant{f' for {door}' if door else ''} to take back")
        set_access(gallery, person_id, replace(had, grants=kept))
        groups = gallery.details_of(person_id).groups
    _say(
        {"person_id": person_id, "revoked": len(had.grants) - len(kept)},
        f"{name}: {len(had.grants) - len(kept)} taken back",
        as_json,
    )
    if groups and not as_json:
        note(f"still a member of: {', '.join(groups)}")


@access.command()
@click.argument("name")
@click.argument("group")
@json_option
@pass_context
def join(context: CliContext, name: str, group: str, *, as_json: bool) -> None:
    """Make a person a member of a group, which has its grants in the configuration.

    Members of "duress" raise a silent alarm with every decision of a door.
    """
    from edgefaced.core.access import DURESS_GROUP, EVERYBODY_GROUP
    from edgefaced.gallery.names import lookup_form

    if lookup_form(group) == EVERYBODY_GROUP:
        raise UsageError(f"everybody enrolled is in the group {EVERYBODY_GROUP} already")
    groups = _regroup(context, name, group, member=True)
    _say({"groups": list(groups)}, f"{name}: {', '.join(groups)}", as_json)
    if lookup_form(group) not in {*map(lookup_form, context.settings().groups), DURESS_GROUP}:
        note(f"the configuration has no [groups.{group}]: it grants nothing yet")


@access.command()
@click.argument("name")
@click.argument("group")
@json_option
@pass_context
def leave(context: CliContext, name: str, group: str, *, as_json: bool) -> None:
    """Take a person out of a group. Exit 1 where they are in none of that name."""
    groups = _regroup(context, name, group, member=False)
    _say({"groups": list(groups)}, f"{name}: {', '.join(groups) or 'in no group'}", as_json)


@access.command()
@click.argument("name")
@click.argument("number", type=click.IntRange(0, 65_535), required=False)
@click.option("--none", "nothing", is_flag=True, help="No number any more.")
@json_option
@pass_context
def card(
    context: CliContext, name: str, number: int | None, *, nothing: bool, as_json: bool
) -> None:
    """Show or set the card number that a door controller is sent for a person (Wiegand)."""
    from dataclasses import replace

    from edgefaced.gallery.access import access_of, set_access

    if nothing and number is not None:
        raise UsageError("a number and --none")
    with open_for_somebody(context, name) as gallery:
        person_id = _id(gallery, name)
        had = access_of(gallery, person_id)
        if nothing or number is not None:
            had = replace(had, card=number)
            set_access(gallery, person_id, had)
    shown = "no card number" if had.card is None else f"card number {had.card}"
    _say({"person_id": person_id, "card": had.card}, f"{name}: {shown}", as_json)


@access.command("list")
@click.option("--door", help="This door only.")
@json_option
@pass_context
def list_access(context: CliContext, *, door: str | None, as_json: bool) -> None:
    """Who may open what: grants of their own, and by their groups."""
    rows = []
    try:
        with open_gallery(context) as gallery:
            for person, given, group in _everything(context.settings(), gallery):
                if door in (None, given.door):
                    rows.append(({"person_id": person.id, "name": person.name}, given, group))
    except GalleryMissing:
        rows = []
    if as_json:
        print_json({"access": [{**who, **_body(g), "group": group} for who, g, group in rows]})
        return
    if not rows:
        note("nobody may open a door; `edgefaced access grant NAME --door DOOR` lets somebody in")
        return
    table = Table("name", "may open", "by", box=None, pad_edge=False)
    for who, given, group in rows:
        by = "own grant" if group is None else f"group {group}"
        table.add_row(*(plain(cell) for cell in (who["name"], _words(given), by)))
    stdout.print(table)


@access.command()
@click.argument("name")
@door_option
@click.option("--at", metavar='"YYYY-MM-DD HH:MM"', help="Local time; else now.")
@json_option
@pass_context
def test(context: CliContext, name: str, *, door: str, at: str | None, as_json: bool) -> int:
    """Whether a door would open for a person, and if not, why. Exit 0 yes, 1 no.

    For somebody who is recognised without doubt, by a synchronised clock; a lockdown of the
    moment is not looked at.
    """
    from edgefaced.core.access import Moment, Reason, recognition_fault, rights_fault
    from edgefaced.doors.plan import plans_of
    from edgefaced.gallery.access import rights_of
    from edgefaced.types import Decision, Liveness, Outcome

    settings = context.settings()
    _known("door", door, settings.doors)
    plans = plans_of(settings)
    rule = settings.doors[door].rule(door)
    moment = _moment(at)
    offset = moment.utcoffset()
    clock = Moment(moment.timestamp(), offset.total_seconds() if offset else 0.0, True)
    with open_for_somebody(context, name) as gallery:
        person_id = _id(gallery, name)
        rights = rights_of(gallery, person_id)
    # As this version sees everybody: there is no liveness check.
    seen = Decision(Outcome.KNOWN, person_id, 1.0, 0.0, Liveness.NOT_CHECKED, "")
    fault = rights_fault(rights, door, plans.rules, clock)
    if fault is None and rule.needs_card and rights.card is None:
        fault = Reason.NO_CARD
    fault = fault or recognition_fault(seen, rule)
    reason = fault or Reason.ALLOWED
    when = f"{moment:%Y-%m-%d %H:%M %z}"
    body = {"person_id": person_id, "door": door, "at": moment.isoformat()}
    answer = "opens" if fault is None else "stays closed"
    _say(
        {**body, "granted": fault is None, "reason": reason.value},
        f"{door} {answer} for {name} at {when}: {reason.value}",
        as_json,
    )
    if fault is Reason.LIVENESS and not as_json:
        note(f'doors.{door}.liveness = "required", and this version has no liveness check')
    return 0 if fault is None else 1


def _regroup(context: CliContext, name: str, group: str, *, member: bool) -> tuple[str, ...]:
    """The groups that a person is in afterwards."""
    from dataclasses import replace

    from edgefaced.gallery.names import lookup_form

    with open_for_somebody(context, name) as gallery:
        person_id = _id(gallery, name)
        details = gallery.details_of(person_id)
        others = tuple(g for g in details.groups if lookup_form(g) != lookup_form(group))
        if not member and others == details.groups:
            raise Refused(f"{name} is not in the group {group}")
        groups = (*others, group) if member else others
        return gallery.describe(person_id, replace(details, groups=groups)).details.groups


def _everything(settings: Settings, gallery: Gallery) -> list[tuple[Any, Grant, str | None]]:
    """(person, grant, the group it comes by or None), by name."""
    from edgefaced.core.access import EVERYBODY_GROUP
    from edgefaced.gallery.access import access_of
    from edgefaced.gallery.names import lookup_form

    by_group = {lookup_form(n): (n, g.grants(n)) for n, g in settings.groups.items()}
    found: list[tuple[Any, Grant, str | None]] = []
    for person in gallery.people():
        found += [(person, given, None) for given in access_of(gallery, person.id).grants]
        for group in (EVERYBODY_GROUP, *person.details.groups):
            shown, grants = by_group.get(lookup_form(group), (group, ()))
            found += [(person, given.grant, shown) for given in grants]
    return found


def _id(gallery: Gallery, name: str) -> str:
    person_id = gallery.id_of(name)
    if person_id is None:
        raise not_enrolled(gallery, name)
    return person_id


def _known(what: str, name: str, known: dict[str, Any]) -> None:
    if name not in known:
        listed = ", ".join(known) or "none is configured"
        raise Refused(f"no {what} {name!r}", f"there are: {listed}")


def _day(option: str, text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return day_number(text)
    except ValueError:
        raise UsageError(f"{option} {text}", "a day is written 2026-12-31") from None


def _backwards(given: Grant) -> bool:
    return (given.last_day or 0) < (given.first_day or 0)


def _moment(text: str | None) -> datetime:
    try:
        moment = datetime.now() if text is None else datetime.fromisoformat(text)  # noqa: DTZ005 - local time is meant
        return moment.astimezone()
    except (ValueError, OverflowError):
        raise UsageError(f"--at {text}", 'a moment is written "2026-12-01 07:30"') from None


def _date(day: int) -> date:
    return date.fromordinal(EPOCH.toordinal() + day)


def _body(given: Grant) -> dict[str, Any]:
    return {
        "door": given.door,
        "schedule": given.schedule,
        "from": None if given.first_day is None else _date(given.first_day).isoformat(),
        "until": None if given.last_day is None else _date(given.last_day).isoformat(),
    }


def _words(given: Grant) -> str:
    by = f"by {given.schedule}" if given.schedule else "always"
    first = "" if given.first_day is None else f", from {_date(given.first_day)}"
    last = "" if given.last_day is None else f", until {_date(given.last_day)}"
    return f"{given.door} {by}{first}{last}"


def _say(body: dict[str, Any], words: str, as_json: bool) -> None:
    if as_json:
        print_json(body)
    else:
        stdout.print(plain(words))
