"""What every command is handed: places and settings, read when first asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from edgefaced.config.places import Places

if TYPE_CHECKING:
    from edgefaced.config.settings import Settings


@dataclass(frozen=True, slots=True)
class CliContext:
    """Places of this process and the configuration file in force."""

    places: Places
    config_file: Path | None = None

    @property
    def settings_file(self) -> Path:
        return self.config_file or self.places.config_file

    def settings(self) -> Settings:
        """Raises ConfigError; a file named on the command line must exist."""
        from edgefaced.config.settings import read_settings  # pydantic and numpy: not for --help

        return read_settings(self.settings_file, required=self.config_file is not None)


pass_context = click.make_pass_decorator(CliContext)
