"""The time zone that working days are reckoned in."""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Mapping
from datetime import UTC, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from edgefaced.errors import ConfigError

LOCALTIME = Path("/etc/localtime")
ZONE = "time zone of this machine"
HINT = 'a name like "Europe/Berlin"; the package tzdata has them'


def zone_of(
    name: str | None,
    environment: Mapping[str, str] = os.environ,
    localtime: Path = LOCALTIME,
) -> tzinfo:
    """The zone of a name; without one the machine's: TZ, /etc/localtime, UTC.

    TZ may be a name, a file or a rule like CET-1CEST,M3.5.0,M10.5.0/3, as in tzset(3); boards
    without tzdata have rules. Raises ConfigError for what is none of these.
    """
    if name is not None:
        found = _named(name)
        if found is None:
            raise ConfigError(f'attendance.time_zone = "{name}" is no {ZONE}', HINT)
        return found
    if tz := environment.get("TZ", "").removeprefix(":"):
        if tz.startswith("/"):
            return _read(Path(tz))
        found = _named(tz) or _ruled(tz)
        if found is None:
            raise ConfigError(f'TZ is "{tz}" in the environment: no {ZONE}', HINT)
        return found
    return _read(localtime) if localtime.exists() else UTC  # also where there is no tzdata


def _named(name: str) -> tzinfo | None:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _ruled(rule: str) -> tzinfo | None:
    """A zone that has a rule alone: RFC 8536, a file without transitions, whose footer it is."""
    counts = struct.pack(">4s c 15x 6l", b"TZif", b"2", 0, 0, 0, 0, 1, 4)
    block = counts + struct.pack(">l b b 4s", 0, 0, 0, b"UTC\0")
    try:
        footer = f"\n{rule}\n".encode("ascii")
        return None if "\n" in rule else ZoneInfo.from_file(io.BytesIO(block + block + footer))
    except ValueError:
        return None


def _read(file: Path) -> tzinfo:
    try:
        with file.open("rb") as opened:
            return ZoneInfo.from_file(opened)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file} is no time zone: {error}", "set attendance.time_zone") from error
