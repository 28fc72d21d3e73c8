"""`edgefaced events purge`: what is too old goes, or everything about a person."""

from __future__ import annotations

import sys
import time

import click

from edgefaced.cli.context import CliContext, pass_context
from edgefaced.cli.events_options import open_ledger, person_id_of
from edgefaced.cli.numbers import NumberRange
from edgefaced.cli.output import json_option, note, plain, print_json, stdout
from edgefaced.clock import is_synchronised
from edgefaced.errors import LedgerBusy, UsageError
from edgefaced.evidence.folder import forget
from edgefaced.evidence.limits import Limits, erase_some_due
from edgefaced.ledger.database import logs_set_aside
from edgefaced.ledger.redaction import redact_person
from edgefaced.ledger.retention import Keep, Retention

PLACE = "command line"
"""Where the event of a redaction comes from, instead of a camera."""

REMAINS = (
    "old pages are still to be overwritten: another process was reading, or the disk is full; "
    "run this again"
)


@click.command()
@click.option("--person", metavar="NAME", help="Redact everything about this person, name or id.")
@click.option(
    "--older-than",
    "days",
    metavar="DAYS",
    type=NumberRange(0, 36_500),
    help="Instead of these limits: every kind and picture older than this.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@pass_context
def purge(
    context: CliContext, *, person: str | None, days: float | None, yes: bool, as_json: bool
) -> int:
    """Leave out what need not be kept by [ledger] and [pictures], now; or forget a person.

    What a sink still waits for stays. Of a person's records only their digests are left, so that
    the chain can still be verified; that it was done is recorded, not of whom. It works on
    attendance as well: export first what must be kept.
    """
    from edgefaced.outlets import picture_limits_of, retention_of

    if person is not None and days is not None:
        raise UsageError("--person and --older-than exclude each other")
    if person is not None:
        return _forget(context, person, yes=yes, as_json=as_json)
    now = time.time_ns() // 1000
    if days is not None and not is_synchronised():
        note("the clock is not synchronised: it is taken as it is, because you asked for it")
    elif not is_synchronised():
        note("the clock is not synchronised: nothing is left out for its age")
    retention = (
        retention_of(context.settings().ledger) if days is None else Retention(Keep(days=days))
    )
    purged = pictures = 0
    old = now if days is not None or is_synchronised() else None
    limits = (
        picture_limits_of(context.settings().pictures)
        if days is None
        else Limits(days, sys.maxsize, sys.maxsize)
    )
    while erased := erase_some_due(context.places.pictures_dir, limits, old):
        pictures += erased
    with open_ledger(context) as ledger:
        while True:
            done = ledger.purge(
                retention,
                now_us=old,
                holders=ledger.cursors().keys(),
            )
            purged += done.purged
            if not done.more:
                break
    if as_json:
        print_json({"purged": purged, "pictures": pictures})
    else:
        also = f", {pictures} pictures removed" if pictures else ""
        stdout.print(plain(f"{purged} records left out{also}"))
    return 0


def _forget(context: CliContext, person: str, *, yes: bool, as_json: bool) -> int:
    person_id = person_id_of(context, person)
    with open_ledger(context) as ledger:
        if not yes:
            _ask(person)
        done = redact_person(ledger, person_id, PLACE)
    pictures = forget(context.places.pictures_dir, [person_id])
    if as_json:
        body = {"redacted": done.records, "pictures": pictures, "scrubbed": done.scrubbed}
        print_json({"person_id": person_id, **body})
    else:
        also = f", {pictures} pictures removed" if pictures else ""
        stdout.print(plain(f"{done.records} records about {person} redacted{also}"))
    for log in logs_set_aside(context.places.events_file):
        note(f"edgefaced: {log} is of a ledger that was taken away: it may still tell of {person}")
    if not done.scrubbed:
        note(f"edgefaced: {REMAINS}")
        return LedgerBusy.exit_code
    return 0


def _ask(person: str) -> None:
    if not sys.stdin.isatty():
        raise UsageError("nobody can be asked here", "say --yes to redact without asking")
    click.confirm(
        f"Take everything about {plain(person).plain} out of the ledger, with pictures?",
        abort=True,
        err=True,
    )
