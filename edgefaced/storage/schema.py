"""Tables, version by version: a new file runs every step, an old one the rest."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from edgefaced.storage.errors import FileErrors
from edgefaced.storage.sqlite import transaction


@dataclass(frozen=True, slots=True)
class Schema:
    """What a file's tables are, and how those of an older version become so."""

    application_id: int
    """Four letters in SQLite's header: whose file this is."""

    steps: tuple[tuple[str, ...], ...]
    """The statements that lead from each version to the next; the first makes version 1."""

    errors: FileErrors

    @property
    def version(self) -> int:
        return len(self.steps)

    def version_of(self, connection: sqlite3.Connection, path: Path) -> int:
        """Schema version of a database; raises `errors.foreign` where it is none of ours.

        A file of a newer schema raises `errors.too_new` and is not touched.
        """
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if application != self.application_id or version < 1:
            raise self.errors.foreign.says(f"{path} is not a {self.errors.what}")
        if version > self.version:
            raise self.errors.too_new.says(
                f"{path} has schema {version}; this edgefaced knows schemas up to {self.version}"
            )
        return int(version)

    def build(self, connection: sqlite3.Connection) -> None:
        """The tables of a new file, inside the caller's transaction."""
        connection.execute(f"PRAGMA application_id = {self.application_id}")
        self._run_steps(connection, 0)

    def migrate(self, connection: sqlite3.Connection, path: Path) -> None:
        """Brings an older file up to date in one transaction, once, whoever comes first."""
        with transaction(connection, "BEGIN IMMEDIATE"):
            self._run_steps(connection, self.version_of(connection, path))

    def _run_steps(self, connection: sqlite3.Connection, version: int) -> None:
        for step in self.steps[version:]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {self.version}")
