"""The steps that take the service away; people's data stays unless it is asked for by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from edgefaced.errors import ServiceError
from edgefaced.gallery.lock import draft_of
from edgefaced.service import units
from edgefaced.service.place import UNIT, Accounts, Place
from edgefaced.service.steps import Overwrite, Remove, Run, Step


def uninstall_steps(place: Place, *, purge: bool = False) -> list[Step]:
    """What is to be done, in order; `purge` takes gallery, key, models, configuration and user.

    Raises ServiceError where it is a package's to take away.
    """
    if place.packaged:
        raise ServiceError(
            "the service came with the Debian package",
            "`apt remove edgefaced`, or `apt purge edgefaced` with people, key and configuration",
        )
    steps = [*_stop(place), *_files(place)]
    if place.root is None:
        forget, there = Run(("systemctl", "daemon-reload")), place.unit.exists()
        steps.append(Step("systemctl daemon-reload", "systemd forgets it", forget, there))
    if purge:
        steps += [*_data(place), *_user(place)]
    return steps


def kept(place: Place, *, purge: bool = False) -> list[Path]:
    """What of the service lies there afterwards."""
    folders = () if purge else (place.files.state_dir, place.files.config_file.parent)
    candidates = [*folders, *(() if purge else _own_drop_ins(place)), place.credential]
    return [path for path in candidates if path.exists()]


def _stop(place: Place) -> Iterator[Step]:
    if place.root is None:
        stop = Run(("systemctl", "disable", "--now", UNIT))
        why = "stopped, and not started at boot"
        yield Step(f"systemctl disable --now {UNIT}", why, stop, needed=place.unit.exists())
    else:
        yield _remove(place.wanted, "not started at boot")


def _files(place: Place) -> Iterator[Step]:
    # The folder goes with it unless somebody else has something there.
    only_ours = place.reach.exists() and not list(_own_drop_ins(place))
    yield _remove(place.drop_ins if only_ours else place.reach, "what it needed to be reached")
    yield _remove(place.rules, "devices go back to the distribution's rules at the next boot")
    yield _remove(place.tmpfiles, "its folders")
    yield _remove(place.sysusers, "its user, who stays as the owner of what stays")
    yield _remove(place.runtime, "its socket")
    yield _remove(place.unit, "the service itself")


def _data(place: Place) -> Iterator[Step]:
    key = place.files.key_file
    for secret in (key, draft_of(key)):
        if secret.exists():
            why = "without its key nobody reads the gallery, not even from an image of the disk"
            yield Step(f"overwrite {secret}", why, Overwrite(secret))
    for secret in (path for path in place.secrets if path.exists()):
        yield Step(f"overwrite {secret}", "a password of somebody else's", Overwrite(secret))
        yield _remove(secret, "a password of somebody else's")
    yield _remove(place.files.state_dir, "people, templates, events, pictures and models")
    yield _remove(place.files.config_file.parent, "the configuration")
    yield _remove(place.drop_ins, "your own drop-ins")


def _user(place: Place) -> Iterator[Step]:
    user = units.user_of(place.unit.read_text()) if place.unit.exists() else units.USER
    # Never a person's account, should the service have been given one.
    if place.root is None and Accounts().home(user) == place.files.state_dir:
        yield Step(f"remove user {user}", "owns nothing any more", Run(("userdel", user)))


def _own_drop_ins(place: Place) -> Iterator[Path]:
    if place.drop_ins.is_dir():
        yield from sorted(path for path in place.drop_ins.iterdir() if path != place.reach)


def _remove(path: Path, why: str) -> Step:
    return Step(f"remove {path}", why, Remove(path), needed=path.exists() or path.is_symlink())
