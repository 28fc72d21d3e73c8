"""`edgefaced events`: what happened, from the ledger; whether it is whole; forgetting."""

from __future__ import annotations

import json
import re
import sys
import time

import click

from edgefaced.cli.context import CliContext, pass_context
from edgefaced.cli.events_export import export
from edgefaced.cli.events_options import (
    Choice,
    Names,
    choice_options,
    clock_of,
    entry_body,
    names_of,
    open_ledger,
    wanted_of,
)
from edgefaced.cli.events_picture import picture
from edgefaced.cli.events_purge import purge
from edgefaced.cli.output import json_option, note, plain, print_json, stdout
from edgefaced.errors import UsageError
from edgefaced.evidence.folder import kept_in
from edgefaced.ledger.reading import Entry, entries, last_entries
from edgefaced.ledger.records import Head
from edgefaced.ledger.verify import Verdict
from edgefaced.ledger.verify import verify as verify_ledger
from edgefaced.sinks.words import in_words

LOOK_SECONDS = 0.5
MARKS = {"synchronised": "", "repaired": "~", "uncertain": "?"}


@click.group()
def events() -> None:
    """What happened: every event in its order, from the ledger on this machine."""


events.add_command(export)
events.add_command(picture)
events.add_command(purge)


@events.command("list")
@choice_options
@click.option(
    "--limit",
    type=click.IntRange(1, 1_000_000),
    default=50,
    show_default=True,
    help="So many, the newest.",
)
@json_option
@pass_context
def list_events(
    context: CliContext, /, *, limit: int, as_json: bool, **choice: str | bool | None
) -> None:
    """The newest events, oldest first.

    A time with "~" was reckoned back from a later one of the same boot; with "?" nobody knows
    whether the clock was right. "[picture ID]" has a picture: see `events picture`.
    """
    chosen = Choice(**choice)  # type: ignore[arg-type]  # click gives what the options promise
    wanted = wanted_of(context, chosen)
    with open_ledger(context) as ledger, names_of(context, chosen) as names:
        found = last_entries(ledger, wanted, limit)
        shown = {kept.event_id for kept in kept_in(context.places.pictures_dir)}
        if as_json:
            bodies = [
                {**entry_body(entry, names), "picture": entry.record.event.id in shown}
                for entry in found
            ]
            print_json({"events": bodies})
            return
        for entry in found:
            _tell(entry, names, as_json=False, pictured=entry.record.event.id in shown)
    if not found:
        note("no such event")


@events.command()
@choice_options
@click.option(
    "--limit",
    type=click.IntRange(0, 1_000_000),
    default=10,
    show_default=True,
    help="First so many, the newest.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document a line.")
@pass_context
def follow(
    context: CliContext, /, *, limit: int, as_json: bool, **choice: str | bool | None
) -> None:
    """Events as they are recorded, by whatever process, until Ctrl-C."""
    chosen = Choice(**choice)  # type: ignore[arg-type]  # click gives what the options promise
    wanted = wanted_of(context, chosen)
    with open_ledger(context) as ledger, names_of(context, chosen) as names:
        after = ledger.head().position
        for entry in last_entries(ledger, wanted, limit) if limit else ():
            if entry.record.position <= after:
                _tell(entry, names, as_json=as_json)
        while True:
            head = ledger.head().position
            for entry in entries(ledger, wanted, after=after):
                _tell(entry, names, as_json=as_json)
                head = max(head, entry.record.position)
            after = head
            time.sleep(LOOK_SECONDS)


@events.command()
@click.option(
    "--head",
    metavar="POSITION:DIGEST",
    help="An end that an earlier `verify` has shown: it must be in the chain.",
)
@json_option
@pass_context
def verify(context: CliContext, *, head: str | None, as_json: bool) -> int:
    """Check every record, the chain between them and its end. Exit 1 where anything is wrong.

    Note the end that this shows somewhere else: with `--head` it also finds an older copy of the
    ledger that was put in place of this one.
    """
    with open_ledger(context) as ledger:
        verdict = verify_ledger(ledger, None if head is None else head_in(head))
    if as_json:
        print_json(_verdict_body(verdict), ok=verdict.clean)
    else:
        for fault in verdict.faults:
            where = f"record {fault.position}: " if fault.position else ""
            stdout.print(plain(f"{where}{fault.what}"))
        kept = f"{verdict.records} records, {verdict.redacted} of them redacted"
        stdout.print(plain(f"{kept}; {verdict.purged} purged"))
        stdout.print(plain(f"end {verdict.head.position}:{verdict.head.digest.hex()}"))
        stdout.print("clean" if verdict.clean else f"NOT CLEAN: {len(verdict.faults)} faults")
    return 0 if verdict.clean else 1


def head_in(text: str) -> Head:
    """An end as `verify` shows it. Raises UsageError."""
    found = re.fullmatch(r"(\d{1,18}):([0-9a-fA-F]{64})", text.strip())
    if found is None:
        raise UsageError(f"{text} is no end of a ledger", "like 1234:and 64 hexadecimal digits")
    return Head(int(found[1]), bytes.fromhex(found[2]))


def _tell(entry: Entry, names: Names, *, as_json: bool, pictured: bool = False) -> None:
    body = entry_body(entry, names)
    if as_json:
        sys.stdout.write(json.dumps(body, ensure_ascii=True) + "\n")
    else:
        local, mark = entry.when.local, MARKS[clock_of(entry)]
        place = f"{entry.record.position:>6} {local:%Y-%m-%d %H:%M:%S%z}{mark:1}"
        picture = f" [picture {body['event_id']}]" if pictured else ""
        stdout.print(plain(f"{place} {in_words(body)}{picture}"))
    sys.stdout.flush()


def _verdict_body(verdict: Verdict) -> dict[str, object]:
    return {
        "clean": verdict.clean,
        "records": verdict.records,
        "redacted": verdict.redacted,
        "purged": verdict.purged,
        "head": {"position": verdict.head.position, "digest": verdict.head.digest.hex()},
        "faults": [{"position": f.position, "what": f.what} for f in verdict.faults],
    }
