"""`edgefaced events picture`: one kept picture, in a file, for who may open the gallery."""

from __future__ import annotations

import os
from pathlib import Path

import click

from edgefaced.cli.context import CliContext, pass_context
from edgefaced.cli.events_options import open_ledger
from edgefaced.cli.output import json_option, plain, print_json, stdout
from edgefaced.cli.people import open_gallery
from edgefaced.control.peer import Peer
from edgefaced.errors import Refused, UsageError
from edgefaced.events import Event, Trouble

PLACE = "command line"
SUFFIXES = (".jpg", ".jpeg")


@click.command()
@click.argument("event_id")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@json_option
@pass_context
def picture(context: CliContext, event_id: str, file: Path, *, as_json: bool) -> None:
    """Write the picture of an event to FILE (.jpg), for you alone.

    Only where `[pictures]` had one kept, only for who may read the gallery's key, and never
    unnoticed: it is an event itself, recorded before FILE is there.
    """
    from edgefaced.evidence.folder import kept_in, read
    from edgefaced.evidence.sealing import opened
    from edgefaced.gallery.picture_keys import picture_keys
    from edgefaced.pictures.write import write_private

    if file.suffix.lower() not in SUFFIXES:
        raise UsageError(
            f"{file}: a picture of an event is a JPEG", f"one of {', '.join(SUFFIXES)}"
        )
    folder = context.places.pictures_dir
    kept = next((kept for kept in kept_in(folder) if kept.event_id == event_id), None)
    if kept is None:
        hint = "`edgefaced events list` marks those that have one"
        raise Refused(f"there is no picture of an event {event_id}", hint)
    with open_gallery(context) as gallery:
        jpeg = opened(read(folder, kept), kept, picture_keys(gallery))
    who = Peer(os.getpid(), os.getuid(), frozenset()).in_words()
    handed = Trouble("pictures", f"the picture of event {event_id} was handed to {who}")
    with open_ledger(context) as ledger:
        ledger.append([Event(handed, PLACE)])
    write_private(file, jpeg)
    if as_json:
        print_json({"event_id": event_id, "file": str(file), "size_bytes": len(jpeg)})
        return
    stdout.print(plain(f"{file}: {len(jpeg)} bytes"))
