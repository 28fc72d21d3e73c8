"""The files of `systemd/` as they travel with the program, and fitted to a machine."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from edgefaced.errors import UsageError

USER = "edgefaced"
SHIPPED_EXECUTABLE = "/usr/bin/edgefaced"
USER_NAME = re.compile(r"[a-z_][a-z0-9_-]{0,30}")
GROUPS = ("video", "render", "gpio")
"""Groups that own cameras, NPUs and pins; a machine may lack some."""


def shipped_folder() -> Path:
    """Folder of the units: in a wheel, or in a checkout."""
    installed = Path(__file__).with_name("units")
    return installed if installed.is_dir() else Path(__file__).parents[2] / "systemd"


def sample_configuration() -> str:
    """The documented configuration, which changes nothing."""
    return sample_file().read_text()


def sample_file() -> Path:
    """Where it lies: in a wheel, or in a checkout."""
    installed = Path(__file__).with_name("edgefaced.toml")
    checkout = Path(__file__).parents[2] / "deploy" / "edgefaced.toml"
    return installed if installed.exists() else checkout


@dataclass(frozen=True, slots=True)
class Reach:
    """How far the daemon reaches, and is reached, besides its Unix socket.

    `others` are addresses beyond this machine; where one of them is known by its name only, all.
    """

    loopback: bool = False
    others: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.others:
            return "this machine's loopback" if self.loopback else "no network"
        return "the network" if self.others == EVERYBODY else ", ".join(self.others)


EVERYBODY = ("any",)
SOCKET, LOOPBACK, NETWORK = Reach(), Reach(loopback=True), Reach(loopback=True, others=EVERYBODY)


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of tmpfiles.d."""

    path: str
    mode: int
    user: str
    group: str


def unit(executable: Path, user: str) -> str:
    """The unit with this executable and user. Raises UsageError for a name that is no user's."""
    if not USER_NAME.fullmatch(user) or user == "root":
        raise UsageError(f"--user {user!r}", "a system user's name: small letters, digits, - and _")
    text = _shipped("edgefaced.service")
    exec_line = rf"^(Exec\w+=-?){re.escape(SHIPPED_EXECUTABLE)}(?= )"
    text = re.sub(exec_line, lambda m: m[1] + quoted(executable), text, flags=re.MULTILINE)
    return re.sub(rf"^(User|Group)={USER}$", rf"\1={user}", text, flags=re.MULTILINE)


def drop_in(reach: Reach) -> str | None:
    """What the unit needs besides, to reach that far."""
    if not reach.others:
        return _shipped("drop-ins/loopback.conf") if reach.loopback else None
    allowed = "\n".join(f"IPAddressAllow={address}" for address in reach.others)
    return _shipped("drop-ins/network.conf").replace("IPAddressAllow=any", allowed)


def sysusers(user: str, groups: Collection[str]) -> str:
    """The user and its membership in those of the `groups` that the machine has."""
    text = re.sub(
        rf"^(u|m) {USER} ", rf"\1 {user} ", _shipped("edgefaced.sysusers.conf"), flags=re.M
    )
    return re.sub(
        r"^m \S+ (\S+)$",
        lambda m: m[0] if m[1] in groups else f"# no group {m[1]} on this machine: {m[0]}",
        text,
        flags=re.MULTILINE,
    )


def tmpfiles(user: str) -> str:
    """The folders, owned by this user."""
    return _columns(_shipped("edgefaced.tmpfiles.conf"), user)


def folders(text: str) -> list[Folder]:
    """What a text of tmpfiles.d makes."""
    rows = [line.split() for line in text.splitlines() if line.startswith("d ")]
    return [Folder(path, int(mode, 8), user, group) for _, path, mode, user, group, _ in rows]


def rules(user: str) -> str:
    """The rules of udev, with this user as an owner."""
    return _shipped("60-edgefaced.rules").replace(f'OWNER="{USER}"', f'OWNER="{user}"')


def user_of(text: str) -> str:
    """Who a unit runs as."""
    found = re.search(r"^User=(\S+)$", text, re.MULTILINE)
    return found[1] if found else USER


def quoted(path: Path) -> str:
    """A path as the first word of an Exec line. Raises UsageError for control characters."""
    text = str(path)
    if not text.isprintable():
        raise UsageError(f"{text!r} cannot stand in a unit", "install into a folder without it")
    text = text.replace("%", "%%")
    if re.fullmatch(r"[\w./+:,@%=~-]+", text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _columns(text: str, user: str) -> str:
    return re.sub(
        r"^d .*$",
        lambda line: re.sub(rf"(?<=\s){USER}(?=\s)", user, line[0]),
        text,
        flags=re.MULTILINE,
    )


def _shipped(name: str) -> str:
    return (shipped_folder() / name).read_text()
