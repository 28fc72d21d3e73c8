"""A password or a key in a file of its own: it never stands in the configuration."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from edgefaced.config.credential import service_credential
from edgefaced.config.places import Places
from edgefaced.errors import ConfigError

LARGEST_BYTES = 4096


def secret(key: str, path: Path | None, places: Places, credential: str) -> str | None:
    """The text of the configured file, else of the unit's credential, else None.

    `key` names the configuration's key in the ConfigError for a file that cannot be used.
    """
    path = path or _credential(places, credential)
    if path is None:
        return None
    try:
        mode, content = _read(path)
    except OSError as error:
        hint = "the daemon's user must be able to read it"
        raise ConfigError(f"{key} = {str(path)!r}: {error.strerror}", hint) from error
    if not stat.S_ISREG(mode):
        raise ConfigError(f"{key} = {str(path)!r}: is no regular file")
    if mode & 0o007:
        hint = f"chmod o= {path}"
        raise ConfigError(f"{key} = {str(path)!r}: is open to everybody on this machine", hint)
    try:
        text = content.decode().strip()
    except UnicodeDecodeError:
        raise ConfigError(f"{key} = {str(path)!r}: is no text in UTF-8") from None
    if not text or len(content) > LARGEST_BYTES or "\0" in text:
        raise ConfigError(f"{key} = {str(path)!r}: is empty, too long or no text")
    return text


def _credential(places: Places, name: str) -> Path | None:
    """The unit's, for the daemon and for root who looks at its configuration."""
    if places.of_service:
        return service_credential(name)
    folder = places.credentials_dir
    return folder / name if folder is not None and (folder / name).exists() else None


def readable(key: str, path: Path) -> Path:
    """The path of a file that can be read. Raises ConfigError otherwise."""
    try:
        if not path.is_file():
            raise ConfigError(f"{key} = {str(path)!r}: there is no such file")
        with path.open("rb"):
            return path
    except OSError as error:
        raise ConfigError(f"{key} = {str(path)!r}: {error.strerror}") from error


def _read(path: Path) -> tuple[int, bytes]:
    # Not blocking: a named pipe is refused and not waited for.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(descriptor).st_mode
        return mode, os.read(descriptor, LARGEST_BYTES + 1) if stat.S_ISREG(mode) else b""
    finally:
        os.close(descriptor)
