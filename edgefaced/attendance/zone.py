"""The time zone that working days are reckoned in."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from edgefaced.errors import ConfigError

LOCALTIME = Path("/etc/localtime")


def zone_of(
    name: str | None,
    environment: Mapping[str, str] = os.environ,
    localtime: Path = LOCALTIME,
) -> tzinfo:
    """The zone of a name; without one the machine's: TZ, /etc/localtime, UTC.

    Raises ConfigError for a name that is no zone's.
    """
    if name is not None:
        return _named(name)
    if tz := environment.get("TZ", "").removeprefix(":"):
        return _read(Path(tz)) if tz.startswith("/") else _named(tz)
    return _read(localtime) if localtime.exists() else UTC  # also where there is no tzdata


def _named(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ConfigError(
            f'attendance.time_zone = "{name}" is no time zone of this machine',
            'a name like "Europe/Berlin"; the package tzdata has them',
        ) from error


def _read(file: Path) -> tzinfo:
    try:
        with file.open("rb") as opened:
            return ZoneInfo.from_file(opened)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file} is no time zone: {error}", "set attendance.time_zone") from error
