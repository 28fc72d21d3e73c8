"""Options of `edgefaced setup`: what is said here is not asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import click

from edgefaced.cli.gallery import first_line
from edgefaced.cli.output import Command
from edgefaced.setup.answers import Mode, Part
from edgefaced.setup.wishes import Wishes

SECONDS = 20.0

_FILE = click.Path(path_type=Path)

_OPTIONS = (
    click.option(
        "--camera",
        help='"first", a node, a name of by-id or by-path, a part of the label; '
        '"picamera2" or "picamera2:MODEL"; "replay:PATH" for recordings.',
    ),
    click.option("--pack", help="Model pack; see `edgefaced models list`."),
    click.option("--from", "source", type=_FILE, help="Its folder, archive or USB stick."),
    click.option("--no-pull", is_flag=True, help="Networks come later; nobody is recognised yet."),
    click.option(
        "--accept-licence",
        "accepted",
        metavar="PACK",
        multiple=True,
        help="Agree to a licence that does not allow commercial use.",
    ),
    click.option("--door", metavar="NAME", help="Set up a door."),
    click.option("--chip", help='Its GPIO chip: label or path, or "file:FOLDER" for trying out.'),
    click.option("--relay", metavar="LINE", help="The line of its relay."),
    click.option("--relay-active-low", is_flag=True, help="The relay switches on a low level."),
    click.option("--pulse", metavar="SECONDS", help="For how long the lock opens."),
    click.option(
        "--for", "members", metavar="GROUP", help='Who may pass; "everybody" are all enrolled.'
    ),
    click.option(
        "--when",
        "weekly",
        metavar="SPAN",
        multiple=True,
        help='When, for instance "mon-fri 07:00-18:00"; may be repeated. Else always.',
    ),
    click.option(
        "--photographs-may-open",
        is_flag=True,
        help="There is NO liveness check: without this the door opens for no face, with it a "
        "photograph may open it.",
    ),
    click.option(
        "--attendance", type=click.Choice(get_args(Mode)), help="Record who comes and who goes."
    ),
    click.option("--in-until", metavar="HH:MM", help="schedule: until when everybody comes."),
    click.option("--out-from", metavar="HH:MM", help="schedule: from when on everybody goes."),
    click.option("--button-chip", metavar="CHIP", help="button: as --chip."),
    click.option("--in-button", metavar="LINE", help="button: the line of the one for coming."),
    click.option("--out-button", metavar="LINE", help="button: the line of the one for going."),
    click.option("--mqtt", metavar="HOST", help="Send events to this broker, with TLS."),
    click.option("--mqtt-port", type=click.IntRange(1, 65535)),
    click.option("--mqtt-plain", is_flag=True, help="Without TLS: anybody on the way can read."),
    click.option("--mqtt-ca", type=_FILE, help="Whose certificates are believed."),
    click.option("--mqtt-user", metavar="NAME"),
    click.option(
        "--mqtt-password-file",
        "password_file",
        type=click.Path(path_type=Path, allow_dash=True),
        help="File whose first line is the password; - reads standard input.",
    ),
    click.option("--webhook", metavar="URL", help="Send events to a web server, signed."),
    click.option("--lines", metavar="FILE", type=_FILE, help="Write events into a file."),
    click.option(
        "--without",
        type=click.Choice(get_args(Part)),
        multiple=True,
        help="Take this away again; may be repeated.",
    ),
    click.option(
        "--service/--no-service", default=None, help="Whether it is a service of the system."
    ),
)


def setup_options(command: Command) -> Command:
    """Adds them; `wishes_of` takes what they were."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def wishes_of(*, password_file: Path | None, **options: Any) -> Wishes:
    """Raises UsageError or StorageError for a password that cannot be read."""
    password = None if password_file is None else first_line(password_file, "password")
    return Wishes(mqtt_password=password, **options)
