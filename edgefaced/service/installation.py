"""The steps that make the daemon a service of the system.

What is so already is marked, so that a second installation changes nothing.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from edgefaced.config.settings import Settings
from edgefaced.config.sinks import host_in, is_loopback
from edgefaced.errors import UsageError
from edgefaced.service import units
from edgefaced.service.place import UNIT, Accounts, Place
from edgefaced.service.steps import HandOver, Link, Remove, Run, Step, WriteFile, owned_by_others
from edgefaced.service.units import Reach

UDEV = Path("/run/udev/control")
SUBSYSTEMS = ("video4linux", "media", "dma_heap", "misc", "gpio")


@dataclass(frozen=True, slots=True)
class Wish:
    """What an installer asks for."""

    executable: Path
    user: str = units.USER
    start: bool = True
    reach: Reach = units.SOCKET


def reach_of(settings: Settings) -> Reach:
    """How far the configuration wants the daemon to reach, and to be reached from."""
    hosts = set(hosts_of(settings))
    others = sorted(host for host in hosts if not is_loopback(host))
    if any(not _is_address(host) for host in others):  # a name may become any address
        return units.NETWORK
    return Reach(loopback=bool(hosts), others=tuple(others))


def hosts_of(settings: Settings) -> Iterator[str]:
    """Whom the daemon talks to; a name that is no host's stands for everybody."""
    metrics, mqtt, webhook = settings.metrics, settings.mqtt, settings.webhook
    if metrics.port is not None:
        # Whoever asks a page that is not the loopback's may be anybody.
        yield metrics.address if is_loopback(metrics.address) else "any"
    if mqtt.host is not None:
        yield mqtt.host
    if webhook.url is not None:
        yield host_in(webhook.url) or "any"
    if settings.command.argv and settings.command.network:
        yield "any"


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def install_steps(place: Place, wish: Wish, *, active: bool = False) -> list[Step]:
    """What is to be done, in order. `active`: the service runs at the moment.

    Of a package's service the files stay as they are. Raises UsageError for a user or an
    executable that cannot stand in a unit.
    """
    accounts = Accounts(place.root)
    if place.packaged:
        if wish.user != units.USER:
            raise UsageError(f"--user {wish.user}", f"the package's service runs as {units.USER}")
        ours = [_configuration(place, wish.user, accounts), _ownership(place, wish.user, accounts)]
        reach = list(_reach(place, wish.reach))
        return [*ours, *reach, *_start(place, wish, changed=reach, active=active)]
    steps = [
        *_account(place, wish.user, accounts),
        *_folders(place, wish.user, accounts),
        _configuration(place, wish.user, accounts),
        _ownership(place, wish.user, accounts),
        *_devices(place, wish.user),
    ]
    service = [
        _file(place.unit, units.unit(wish.executable, wish.user), "the service itself"),
        *_reach(place, wish.reach),
    ]
    steps += service
    return [*steps, *_start(place, wish, changed=service, active=active)]


def _account(place: Place, user: str, accounts: Accounts) -> Iterator[Step]:
    groups = [group for group in units.GROUPS if accounts.group_id(group) is not None]
    file = _file(
        place.sysusers,
        units.sysusers(user, groups),
        f"who the daemon runs as; device groups on this machine: {', '.join(groups) or 'none'}",
    )
    yield file
    yield Step(
        f"make user {user}",
        "no password and no shell; it reaches its own files and its groups' devices",
        _tool(place, "systemd-sysusers", place.sysusers),
        needed=file.needed or accounts.user_id(user) is None,
    )


def _folders(place: Place, user: str, accounts: Accounts) -> Iterator[Step]:
    text = units.tmpfiles(user)
    file = _file(place.tmpfiles, text, "which folders it needs, made anew at boot where they lack")
    yield file
    folders = units.folders(text)
    yield Step(
        "make folders " + ", ".join(str(place.at(f.path)) for f in folders),
        ", ".join(f"{f.user}:{f.group} {f.mode:04o}" for f in folders),
        _tool(place, "systemd-tmpfiles", "--create", place.tmpfiles),
        needed=file.needed or not all(_is_so(place, folder, accounts) for folder in folders),
    )


def _is_so(place: Place, folder: units.Folder, accounts: Accounts) -> bool:
    path = place.at(folder.path)
    if not path.is_dir():
        return False
    status = path.stat()
    found = stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid
    user_id = 0 if folder.user == "root" else accounts.user_id(folder.user)
    return found == (folder.mode, user_id, accounts.group_id(folder.group))


def _configuration(place: Place, user: str, accounts: Accounts) -> Step:
    path = place.files.config_file
    if not path.exists():
        new = WriteFile(path, units.sample_configuration(), 0o640, user)
        return Step(f"write {path}", "every key with its default, to be changed by you", new)
    status = path.stat()
    readable = status.st_gid == accounts.group_id(user) and status.st_mode & stat.S_IRGRP
    return Step(
        f"share {path} with {user}",
        "the daemon reads it; what is in it stays",
        WriteFile(path, path.read_text(), 0o640, user),
        needed=not (readable or status.st_mode & stat.S_IROTH),
    )


def _ownership(place: Place, user: str, accounts: Accounts) -> Step:
    folder = place.files.state_dir
    others = list(owned_by_others(folder, accounts.user_id(user)))
    return Step(
        f"hand {folder} over to {user}",
        f"{len(others)} files and folders in it belong to others; the daemon could not use them"
        if others
        else "gallery, key and models must be the daemon's",
        HandOver(folder, user),
        needed=bool(others),
    )


def _devices(place: Place, user: str) -> Iterator[Step]:
    file = _file(place.rules, units.rules(user), "cameras, shared memory and pins it may open")
    yield file
    if place.root is None and UDEV.exists():
        told = Run(("udevadm", "control", "--reload"))
        yield Step("udevadm control --reload", "the rules are read", told, needed=file.needed)
        matches = tuple(f"--subsystem-match={name}" for name in SUBSYSTEMS)
        applied = Run(("udevadm", "trigger", "--action=change", *matches))
        yield Step("udevadm trigger", "and applied to what is plugged in", applied, file.needed)


def _reach(place: Place, reach: Reach) -> Iterator[Step]:
    text = units.drop_in(reach)
    if text is not None:
        yield _file(place.reach, text, f"the configuration needs {reach}")
    elif place.reach.exists():
        yield Step(
            f"remove {place.reach}", "the configuration needs no network", Remove(place.reach)
        )


def _start(place: Place, wish: Wish, *, changed: Iterable[Step], active: bool) -> Iterator[Step]:
    at_boot = "it starts at every boot"
    if place.root is not None:
        link = Link(place.wanted, f"/etc/systemd/system/{UNIT}")
        yield Step(f"link {place.wanted}", at_boot, link, needed=not place.wanted.is_symlink())
        return
    news = any(step.needed for step in changed)
    systemd_reads = Run(("systemctl", "daemon-reload"))
    yield Step("systemctl daemon-reload", "systemd reads the unit", systemd_reads, needed=news)
    enable = Run(("systemctl", "enable", UNIT))
    yield Step(f"systemctl enable {UNIT}", at_boot, enable, needed=not place.wanted.is_symlink())
    if wish.start:
        verb = "restart" if active else "start"
        start = Run(("systemctl", verb, UNIT))
        why = "now; this waits until the camera has given a frame or is reported absent"
        yield Step(f"systemctl {verb} {UNIT}", why, start, needed=news or not active)


def _file(path: Path, text: str, why: str) -> Step:
    action = WriteFile(path, text)
    same = path.is_file() and path.read_text() == text
    same = same and stat.S_IMODE(path.stat().st_mode) == action.mode
    return Step(f"write {path}", why, action, needed=not same)


def _tool(place: Place, name: str, *words: str | Path) -> Run:
    root = () if place.root is None else (f"--root={place.root}",)
    return Run((name, *root, *(w.name if isinstance(w, Path) else w for w in words)))
