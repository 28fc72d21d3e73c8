"""`edgefaced enroll NAME --camera`: guides a person, by the daemon or with our own line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

from rich.live import Live

from edgefaced.cli.context import CliContext
from edgefaced.cli.output import note, plain, print_json, stderr, stdout
from edgefaced.cli.own_line import own_line
from edgefaced.control.client import ControlClient, connect
from edgefaced.control.commands import step_document
from edgefaced.control.contract import error_of
from edgefaced.core.coaching import Pose
from edgefaced.daemon import hindrance
from edgefaced.errors import NotRunning
from edgefaced.sitting import sitting_of

Steps = Iterator[dict[str, Any]]


def enroll_from_camera(
    context: CliContext,
    name: str,
    *,
    seconds: float,
    consent: str | None,
    add: bool,
    allow_duplicate: bool,
    as_json: bool,
) -> int:
    """Enrols who stands before the camera. Raises what refuses it."""
    settings = context.settings()
    try:
        client = connect(context.places.control_sockets(settings))
    except NotRunning:
        with own_line(context) as (line, tap, _):
            sitting = sitting_of(
                settings,
                context.places,
                tap,
                lambda: hindrance(line),
                extend=add,
                allow_duplicate=allow_duplicate,
            )
            with closing(sitting.hold(name, seconds=seconds, consent=consent)) as steps:
                report = _guide(step_document(step) for step in steps if step is not None)
    else:
        with client:
            report = _guide(
                _asked(
                    client,
                    name=name,
                    seconds=seconds,
                    consent=consent,
                    add=add,
                    allow_duplicate=allow_duplicate,
                )
            )
    _say(report, as_json=as_json)
    return 0


def _asked(client: ControlClient, **options: object) -> Steps:
    client.ask("enrol", **options)
    yield from client.follow()


def _guide(steps: Steps) -> dict[str, Any]:
    """Shows guidance as it comes; returns the report. Raises what it refuses with."""
    with Live(console=stderr, auto_refresh=False, transient=True) as live:
        for step in steps:
            if step["type"] == "report":
                if not step["ok"]:
                    raise error_of(step)
                return step
            said = guidance(step)
            if stderr.is_terminal:
                live.update(plain(said), refresh=True)
            else:
                note(said)
    raise NotRunning("the daemon stopped before the end", "nobody was enrolled")


def guidance(step: dict[str, Any]) -> str:
    """One line: how many pictures are there, which, and what to do now."""
    taken, missing = step["taken"], step["missing"]
    bar = "■" * len(taken) + "□" * len(missing)
    return f"{bar} {len(taken)} of {len(taken) + len(missing)} pictures: {step['words']}"


def _say(report: dict[str, Any], *, as_json: bool) -> None:
    body = {key: value for key, value in report.items() if key not in {"type", "ok"}}
    body.pop("contract_version", None)
    if as_json:
        print_json(body)
        return
    for picture in body["pictures"]:
        said = "kept" if picture["kept"] else picture["gate"]
        detail = f" ({picture['detail']})" if picture["detail"] else ""
        stdout.print(plain(f"{picture['path']}: {said}{detail}"))
    person = body["person"]
    stdout.print(
        plain(
            f"{person['name']} is enrolled: {body['kept']} of {len(body['pictures'])} pictures "
            f"kept, {person['templates']} templates"
        )
    )
    lacking = len(Pose) - body["kept"]
    if lacking > 0:
        note(
            f"{lacking} poses are missing: `edgefaced enroll NAME --camera --add` takes them later"
        )
