"""Who is at the other end of a Unix socket, by the kernel's word, and what they may do."""

from __future__ import annotations

import os
import pwd
import socket
import struct
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

SO_PEERGROUPS = 59
"""Not in Python's socket module; <asm-generic/socket.h>."""

_CREDENTIALS = struct.Struct("3i")
_MOST_GROUPS_BYTES = 1024
"""Python asks for no more; who is in over 256 groups is judged by the first one."""


class Access(StrEnum):
    """What a client may do: nothing, read without names, or everything."""

    NONE = "none"
    READ = "read"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Peer:
    """The process that connected, with all its groups."""

    pid: int
    uid: int
    groups: frozenset[int]

    def in_words(self) -> str:
        """For an event; a user without a name is a number."""
        try:
            name = pwd.getpwuid(self.uid).pw_name
        except KeyError:
            name = str(self.uid)
        return f"the user {name} (process {self.pid})"


@dataclass(frozen=True, slots=True)
class AccessRule:
    """Root and the daemon's own user may do everything; its group what `group_access` says."""

    uid: int
    gid: int
    group_access: Access

    def access(self, peer: Peer) -> Access:
        if peer.uid in (0, self.uid):
            return Access.FULL
        return self.group_access if self.gid in peer.groups else Access.NONE


def rule_of_this_process(group_access: Literal["none", "read", "full"]) -> AccessRule:
    """The rule for a daemon that runs as this process does."""
    return AccessRule(os.geteuid(), os.getegid(), Access(group_access))


def peer_of(connection: socket.socket) -> Peer:
    """Raises OSError for a socket that is not connected."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, gid = _CREDENTIALS.unpack(raw)
    try:
        groups = connection.getsockopt(socket.SOL_SOCKET, SO_PEERGROUPS, _MOST_GROUPS_BYTES)
    except OSError:  # a kernel before 4.13, or too many groups
        groups = b""
    return Peer(pid, uid, frozenset({gid, *(g for (g,) in struct.iter_unpack("I", groups))}))
