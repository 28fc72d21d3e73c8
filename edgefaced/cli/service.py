"""`edgefaced install-service` and `uninstall`: the daemon as a service of the system."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from edgefaced.cli.context import CliContext, pass_context
from edgefaced.cli.output import fail, json_option, note, plain, print_json, stdout
from edgefaced.errors import EdgefacedError, UsageError

if TYPE_CHECKING:
    from edgefaced.config.settings import Settings
    from edgefaced.service.obstacles import Software
    from edgefaced.service.place import Place
    from edgefaced.service.steps import Step

DONE, UNCHANGED, PLANNED = "done", "as it was", "to do"

root_option = click.option(
    "--root",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="The tree of a machine (an image, a container) instead of this machine.",
)
dry_run_option = click.option("--dry-run", is_flag=True, help="Only say what would be done.")


@click.command("install-service")
@root_option
@click.option("--user", default="edgefaced", show_default=True, help="Who the daemon runs as.")
@click.option("--no-start", is_flag=True, help="Not now; at the next boot.")
@dry_run_option
@json_option
def install_service(
    *, root: Path | None, user: str, no_start: bool, dry_run: bool, as_json: bool
) -> int:
    """Run the daemon at every boot: user, folders, devices, unit. Says each thing it does.

    Doing it again changes nothing, or only what is new after an update.
    """
    from edgefaced.config.settings import read_settings
    from edgefaced.service import obstacles
    from edgefaced.service.installation import Wish, install_steps, reach_of
    from edgefaced.service.place import Place

    place = Place(None if root is None else root.resolve())
    raise_first(obstacles.of_the_machine(obstacles.machine_of_this_process(), place))
    settings = read_settings(place.files.config_file)
    software = obstacles.software_of_this_process()
    in_the_way = list(_in_the_way(place, software, settings))
    if root is None:
        raise_first(in_the_way)
    else:  # the tree may still get what it lacks
        for obstacle in in_the_way:
            note(f"before it can start: {obstacle}")
    wish = Wish(software.executable, user, not no_start, reach_of(settings))
    steps = install_steps(place, wish, active=root is None and is_active())
    if place.packaged:
        note("unit, user, folders and device rules are the Debian package's and stay as they are")
    code = carry_out(steps, place, dry_run=dry_run, as_json=as_json, body={})
    if code == 0 and root is None and not dry_run and not as_json:
        note("`systemctl status edgefaced` shows it, `journalctl -fu edgefaced` what it sees")
        note(f"`usermod -aG {user} NAME` lets NAME speak to the running daemon")
    return code


@click.command()
@root_option
@click.option("--purge", is_flag=True, help="Also people, key, models, configuration and user.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@dry_run_option
@json_option
@pass_context
def uninstall(
    context: CliContext,
    *,
    root: Path | None,
    purge: bool,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Take the service away. People, key and configuration stay unless you say --purge."""
    from edgefaced.service import obstacles
    from edgefaced.service.place import Place
    from edgefaced.service.removal import kept, uninstall_steps

    place = Place(None if root is None else root.resolve())
    raise_first(obstacles.of_the_machine(obstacles.machine_of_this_process(), place))
    steps = uninstall_steps(place, purge=purge)
    if purge and not yes and not dry_run:
        _ask(place)
    stays = [str(path) for path in kept(place, purge=purge)]
    code = carry_out(steps, place, dry_run=dry_run, as_json=as_json, body={"kept": stays})
    if not as_json:
        for path in stays:
            stdout.print(plain(f"kept: {path}"))
    return code


def carry_out(
    steps: list[Step], place: Place, *, dry_run: bool, as_json: bool, body: dict[str, Any]
) -> int:
    """Does what is needed and says each step; after one that fails none is done."""
    said: list[dict[str, str]] = []
    try:
        for line in each_done(steps, place, dry_run=dry_run):
            said.append(line)
            if not as_json:
                stdout.print(plain(in_words(line)))
    except EdgefacedError as error:
        return fail(error, as_json=as_json, body={"steps": said, **body})
    if as_json:
        print_json({"steps": said, **body})
    return 0


def each_done(steps: Iterable[Step], place: Place, *, dry_run: bool) -> Iterator[dict[str, str]]:
    """Does what is needed, step by step; each as it is said. Raises ServiceError."""
    from edgefaced.service.place import Accounts
    from edgefaced.service.steps import perform

    for step in steps:
        state = UNCHANGED if not step.needed else PLANNED if dry_run else DONE
        if state is DONE:
            perform(step.action, Accounts(place.root))
        yield {"what": step.what, "why": step.why, "state": state}


def in_words(line: dict[str, str]) -> str:
    return f"{line['state']}: {line['what']} ({line['why']})"


def raise_first(obstacles: Iterable[EdgefacedError]) -> None:
    """Raises the first obstacle, if there is one."""
    for obstacle in obstacles:
        raise obstacle


def is_active() -> bool:
    """Whether the service runs on this machine."""
    from edgefaced.service.place import UNIT

    return subprocess.run(["systemctl", "is-active", "--quiet", UNIT], check=False).returncode == 0


def _in_the_way(place: Place, software: Software, settings: Settings) -> Iterable[EdgefacedError]:
    from edgefaced.service import obstacles

    yield from obstacles.of_the_software(software)
    yield from obstacles.of_the_models(place, settings, software.executable)


def _ask(place: Place) -> None:
    if not sys.stdin.isatty():
        raise UsageError("nobody can be asked here", "say --yes to remove without asking")
    what = f"Remove everybody enrolled, with {place.files.state_dir}, for ever?"
    click.confirm(plain(what).plain, abort=True, err=True)
