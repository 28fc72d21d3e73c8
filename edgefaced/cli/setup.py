"""`edgefaced setup`: from a fresh machine to one that recognises people, by questions."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click

from edgefaced.cli.context import CliContext, pass_context
from edgefaced.cli.numbers import NumberRange
from edgefaced.cli.output import complain, fail, json_option, note, plain, print_json, stdout
from edgefaced.cli.setup_networks import bring
from edgefaced.cli.setup_options import SECONDS, setup_options, wishes_of
from edgefaced.errors import EdgefacedError, Forbidden, NotRunning, UsageError
from edgefaced.setup.answers import Source

if TYPE_CHECKING:
    from edgefaced.service.place import Place
    from edgefaced.service.steps import Step
    from edgefaced.setup.answers import Answers
    from edgefaced.setup.asking import Asker
    from edgefaced.setup.plan import Draft


@click.command()
@setup_options
@click.option(
    "--live",
    type=NumberRange(min=0),
    default=SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="How long to show what the camera sees, at the end.",
)
@click.option("--yes", is_flag=True, help="Do not ask: options, and what stands already, hold.")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@json_option
@pass_context
def setup(
    context: CliContext,
    /,
    *,
    live: float,
    yes: bool,
    dry_run: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Set this device up: camera, model pack, door or attendance, whom to tell; then try it.

    Asks what the options do not say; a configuration that exists already is changed, and kept as
    .bak beside the new one. Until all is answered nothing is changed. Then: networks are brought,
    the configuration is checked and written, the service is started, `doctor` looks at everything,
    and the camera shows whom it sees. Exit 0 when all is well, 1 when it is set up and doctor or
    camera complain.
    """
    from edgefaced.checkup import check
    from edgefaced.service.place import Place
    from edgefaced.setup.asking import Nobody
    from edgefaced.setup.here import look
    from edgefaced.setup.plan import draft_of, standing_at
    from edgefaced.setup.questions import ask

    asker: Asker = Nobody(note) if yes or not sys.stdin.isatty() else _terminal()
    if not asker.present and not (yes or dry_run):
        raise UsageError("nobody can be asked here", "say --yes, and in options what is wanted")
    place, path = Place(), context.settings_file
    standing = standing_at(path)
    here = look(context.places.models_dir, _obstacle(context, place))
    try:
        answers = ask(asker, wishes_of(**options), standing, here)
        draft = draft_of(path, standing, answers, place)
        if here.pack(answers.pack) is not None:  # else its manifest is still to come
            check(draft.settings, context.places)
        planned = list(_planned(place, draft, answers))
        if asker.present and not dry_run:
            for line in planned:
                note(_in_words(line))
            click.confirm("Shall this be done?", default=True, abort=True, err=True)
    except (click.Abort, KeyboardInterrupt):
        note("nothing was changed")
        raise
    if dry_run:
        return _say_plan(draft, planned, as_json=as_json)
    answers = replace(answers, source=bring(context, asker, answers))
    return _carry_out(context, place, draft, answers, live=live, as_json=as_json)


def _terminal() -> Asker:
    from edgefaced.cli.setup_terminal import Terminal

    return Terminal()


def _obstacle(context: CliContext, place: Place) -> str:
    """Why this is not for the service; empty where it is."""
    from edgefaced.service import obstacles

    machine = obstacles.machine_of_this_process()
    software = obstacles.software_of_this_process()
    if machine.user_id != 0:
        return f"only root can: `sudo {software.executable} setup`"
    own = (context.settings_file, context.places.state_dir, context.places.models_dir)
    files = place.files
    if own != (files.config_file, files.state_dir, files.models_dir):
        return f"the service has {files.config_file} and {files.state_dir}, and these are others"
    in_the_way = (*obstacles.of_the_machine(machine, place), *obstacles.of_the_software(software))
    return "; ".join(str(error) for error in in_the_way)


def _planned(place: Place, draft: Draft, answers: Answers) -> Iterator[dict[str, str]]:
    from edgefaced.cli.service import PLANNED, each_done

    match answers.source:
        case Source.HERE:
            said = None
        case Source.LATER:
            said = f"bring the networks of {answers.pack} later"
        case Source.NETWORK:
            said = f"download the networks of {answers.pack}"
        case folder:
            said = f"import the networks of {answers.pack} from {folder}"
    if said is not None:
        yield {"what": said, "why": "they find and recognise faces", "state": PLANNED}
    yield from each_done(_steps(place, draft, answers), place, dry_run=True)


def _steps(place: Place, draft: Draft, answers: Answers) -> list[Step]:
    from edgefaced.cli.service import is_active
    from edgefaced.service.obstacles import software_of_this_process
    from edgefaced.setup.plan import service_steps

    if not answers.service:
        return list(draft.files)
    executable = software_of_this_process().executable
    return [*draft.files, *service_steps(place, executable, draft, active=is_active())]


def _say_plan(draft: Draft, planned: list[dict[str, str]], *, as_json: bool) -> int:
    if as_json:
        print_json({"file": str(draft.path), "steps": planned, "configuration": draft.text})
        return 0
    for line in planned:
        stdout.print(plain(_in_words(line)))
    stdout.print(plain(f"{draft.path} would be:"))
    for text in draft.text.splitlines():
        stdout.print(plain(text))
    return 0


def _in_words(line: dict[str, str]) -> str:
    from edgefaced.cli.service import in_words

    return in_words(line)


def _carry_out(
    context: CliContext, place: Place, draft: Draft, answers: Answers, *, live: float, as_json: bool
) -> int:
    from edgefaced.checkup import check
    from edgefaced.cli.service import each_done
    from edgefaced.cli.setup_live import Seen, look

    # What is wrong is said before anything is written; what is lacking, by doctor.
    check(draft.settings, context.places)
    body: dict[str, Any] = {"file": str(draft.path), "changed": draft.changed, "steps": []}
    try:
        for line in each_done(_steps(place, draft, answers), place, dry_run=False):
            body["steps"].append(line)
            if not as_json:
                stdout.print(plain(_in_words(line)))
    except EdgefacedError as error:
        return fail(error, as_json=as_json, body=body)
    body["findings"] = _examine(context, as_json=as_json)
    seen = Seen("", ())
    if live:
        note(f"Step in front of the camera: {live:g} s; Ctrl-C ends this.")
        seen = look(context, live, lambda line: note(f"  {line}"))
        if seen.fault:
            complain(seen.fault)
        body["live"] = asdict(seen)
    well = not seen.fault and all(f["level"] != "fault" for f in body["findings"])
    body["next"] = _next(context, draft, answers)
    if as_json:
        print_json(body, ok=well)
    else:
        for line in body["next"]:
            stdout.print(plain(line))
    return 0 if well else 1


def _examine(context: CliContext, *, as_json: bool) -> list[dict[str, str]]:
    from edgefaced.cli.doctor import counted, shown
    from edgefaced.doctor.examine import examine

    findings = examine(context.settings, context.settings_file, context.places)
    body = [shown(finding, as_json=as_json) for finding in findings]
    if not as_json:
        stdout.print(counted(Counter(finding["level"] for finding in body)))
    return body


def _next(context: CliContext, draft: Draft, answers: Answers) -> list[str]:
    """What to do now, a line each."""
    sudo = "sudo " if answers.service else ""
    lines = []
    running = not answers.service and _is_running(context)
    if running and draft.changed:
        lines.append(
            "the daemon that runs has the configuration of before: `systemctl reload edgefaced`, "
            "or send it SIGHUP"
        )
    if answers.source is Source.LATER:
        lines.append(f"networks: {sudo}edgefaced models pull {answers.pack}, or models import PATH")
    lines.append(f"enrol somebody: {sudo}edgefaced enroll NAME --camera")
    door = answers.door
    if door is not None:
        if door.members is None:
            lines.append(f"let them in: {sudo}edgefaced access grant NAME --door {door.name}")
        elif door.members != "everybody":
            lines.append(f"let them in: {sudo}edgefaced access join NAME {door.members}")
        lines.append(f"try the lock: {sudo}edgefaced doors open {door.name}")
        if not door.photographs_may_open:
            lines.append(f"{door.name} opens for no face: there is no liveness check yet")
    if not (answers.service or running):
        lines.append("recognise people: edgefaced run")
    if draft.backup.exists():
        lines.append(f"the configuration of before: {draft.backup}")
    return lines


def _is_running(context: CliContext) -> bool:
    from edgefaced.control.client import connect

    try:
        connect(context.places.control_sockets(context.settings())).close()
    except Forbidden:
        return True
    except NotRunning:
        return False
    return True
