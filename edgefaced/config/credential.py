"""Where the service's gallery key lies when it is a systemd credential, seen from outside the unit.

systemd lays credentials where only the unit is told; whoever works on the service's gallery by hand
must use the same key. While the service runs its credential is where systemd has put it, and root
may read it there; otherwise the unit and its drop-ins name what it is loaded from.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

NAME = "edgefaced-gallery-key"
MQTT_PASSWORD = "edgefaced-mqtt-password"  # noqa: S105 - the credential's name
WEBHOOK_KEY = "edgefaced-webhook-key"
UNIT = "edgefaced.service"

STORES = ("etc/credstore", "run/credstore", "usr/local/lib/credstore", "usr/lib/credstore")
"""Where systemd looks for a credential without a path of its own."""

UNIT_FOLDERS = ("etc/systemd/system", "run/systemd/system", "usr/lib/systemd/system")


def service_key(root: Path = Path("/")) -> Path | None:
    """The key as a credential; None where the service has none and uses a file beside the gallery.

    The path of one that is there but cannot be read from outside (encrypted, and the service does
    not run) is returned as well: nothing else may take its place.
    """
    running = root / "run/credentials" / UNIT / NAME
    if running.exists():
        return running
    source = _source(root)
    if source is None or source.encrypted:
        return None if source is None else running
    return next((path for path in _places(root, source.path) if path.is_file()), None)


def service_credential(name: str, root: Path = Path("/")) -> Path | None:
    """Another credential of the unit: while it runs, or in one of systemd's stores."""
    running = root / "run/credentials" / UNIT / name
    candidates = (running, *_places(root, name))
    # Not Path.is_file: to whoever may not enter systemd's folders it raises, up to Python 3.13.
    return next((path for path in candidates if os.path.isfile(path)), None)  # noqa: PTH113 - it raises


@dataclass(frozen=True, slots=True)
class _Source:
    """What a unit loads the key from: a path, or a name in systemd's stores."""

    path: str
    encrypted: bool


def _source(root: Path) -> _Source | None:
    """As systemd reads it: the last word counts, an empty one takes all before it back."""
    found: _Source | None = None
    for line in _lines(root):
        option, _, value = (part.strip() for part in line.partition("="))
        if option in ("LoadCredential", "LoadCredentialEncrypted"):
            name, _, path = value.partition(":")
            if name in ("", NAME):
                encrypted = option == "LoadCredentialEncrypted"
                found = _Source(path or NAME, encrypted) if name else None
    return found


def _places(root: Path, path: str) -> Iterator[Path]:
    if path.startswith("/"):
        yield root / path.lstrip("/")
    else:
        for store in STORES:
            yield root / store / path


def _lines(root: Path) -> Iterator[str]:
    """Of the unit that is in force, then of its drop-ins in the order of their names."""
    folders = [root / folder for folder in UNIT_FOLDERS]
    unit = next((f / UNIT for f in folders if (f / UNIT).is_file()), None)
    drop_ins: dict[str, Path] = {}
    for folder in folders:
        for file in (folder / f"{UNIT}.d").glob("*.conf"):
            drop_ins.setdefault(file.name, file)
    for file in [*([unit] if unit else []), *(drop_ins[name] for name in sorted(drop_ins))]:
        try:
            yield from file.read_bytes().decode("utf-8", "replace").splitlines()
        except OSError:
            continue  # not ours to read; the running credential was looked at before
