"""Which of our errors stand for what can happen to a file, and the way out that each names."""

from __future__ import annotations

import errno
from dataclasses import dataclass

from edgefaced.errors import EdgefacedError


@dataclass(frozen=True, slots=True)
class Way:
    """A class of errors and its hint."""

    kind: type[EdgefacedError]
    hint: str

    def says(self, message: str) -> EdgefacedError:
        return self.kind(message, self.hint)


@dataclass(frozen=True, slots=True)
class FileErrors:
    """The errors of one kind of file."""

    what: str
    """The file's name for people: "gallery", "ledger"."""

    missing: Way
    replaced: Way
    busy: Way
    full: Way
    refused: Way
    """The disk or the file's mode is in the way."""

    damaged: Way
    foreign: Way
    """It is a file of something else."""

    too_new: Way
    system_hint: str
    """The hint where the file system refused something before SQLite was asked."""

    def system(self, what: str, error: OSError) -> EdgefacedError:
        """The error for something that the file system refused."""
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        kind = self.full.kind if full else self.refused.kind
        return kind(f"{what}: {error.strerror}", self.system_hint)
