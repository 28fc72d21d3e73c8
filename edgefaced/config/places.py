"""Where this process keeps things.

As root or under systemd in `/etc/edgefaced`, `/var/lib/edgefaced` and `/run/edgefaced`, for a
person in the XDG folders; EDGEFACED_CONFIG, EDGEFACED_STATE_DIR, EDGEFACED_MODELS_DIR and
EDGEFACED_RUNTIME_DIR move them; a moved state folder holds the control socket as well.
EDGEFACED_KEY_FILE names the gallery's key.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from edgefaced.config.credential import NAME, service_key

if TYPE_CHECKING:
    from edgefaced.config.settings import Settings

APP = "edgefaced"


@dataclass(frozen=True, slots=True)
class Places:
    """Where this process keeps things."""

    config_file: Path
    state_dir: Path
    models_dir: Path
    credentials_dir: Path | None = None
    """Where systemd lays a unit's credentials."""
    runtime_dirs: tuple[Path, ...] = ()
    """Where a daemon may be reached; a daemon of our own is in the first one."""
    named_key: Path | None = None
    """The key that was named by hand."""
    of_service: bool = False
    """Whether this is root, outside the unit, at the service's own gallery."""

    def control_sockets(self, settings: Settings) -> tuple[Path, ...]:
        """Where a daemon's socket may be, its own place first."""
        if settings.control.socket is not None:
            return (settings.control.socket,)
        return tuple(folder / "control.sock" for folder in self.runtime_dirs or (self.state_dir,))

    @property
    def gallery_file(self) -> Path:
        return self.state_dir / "gallery.db"

    @property
    def events_file(self) -> Path:
        """The ledger; its key lies beside it."""
        return self.state_dir / "events.db"

    @property
    def pictures_dir(self) -> Path:
        """Pictures of events, where the configuration asks for any."""
        return self.state_dir / "pictures"

    @property
    def doors_file(self) -> Path:
        """Which doors are locked down, and which camera is the right one."""
        return self.state_dir / "doors.json"

    @property
    def door_lines_file(self) -> Path:
        """Which lines the doors last hung on."""
        return self.state_dir / "door-lines.json"

    @property
    def unlocked_file(self) -> Path:
        """Where a guard notes which doors are unlocked; it may be lost with the power."""
        return (*self.runtime_dirs, self.state_dir)[0] / "unlocked.json"

    @property
    def key_file(self) -> Path:
        """The credential `edgefaced-gallery-key` where the unit has one, else a file of our own."""
        if self.named_key is not None:
            return self.named_key
        if self.credentials_dir is not None and (self.credentials_dir / NAME).exists():
            return self.credentials_dir / NAME
        credential = service_key() if self.of_service else None
        return credential or self.state_dir / "gallery.key"


def places(environment: Mapping[str, str], *, root: bool) -> Places:
    """Folders from the environment: ours first, then systemd's, then root's or the person's."""

    def first(*candidates: str | None) -> Path:
        return Path(next(c for c in candidates if c)).expanduser()

    env = environment.get
    # systemd lists several folders with ":"; the first is the unit's own.
    systemd_state = (env("STATE_DIRECTORY") or "").split(":")[0]
    systemd_config = (env("CONFIGURATION_DIRECTORY") or "").split(":")[0]
    credentials, named_key = env("CREDENTIALS_DIRECTORY"), env("EDGEFACED_KEY_FILE")
    home = env("HOME") or "~"
    if root:
        config_dir, state_dir = f"/etc/{APP}", f"/var/lib/{APP}"
    else:
        config_dir = str(Path(env("XDG_CONFIG_HOME") or f"{home}/.config") / APP)
        state_dir = str(Path(env("XDG_DATA_HOME") or f"{home}/.local/share") / APP)
    state = first(env("EDGEFACED_STATE_DIR"), systemd_state, state_dir)
    # A person without a daemon of their own asks the machine's.
    system = Path(f"/run/{APP}")
    if moved := env("EDGEFACED_RUNTIME_DIR") or env("EDGEFACED_STATE_DIR"):
        runtime_dirs: tuple[Path, ...] = (first(moved),)
    elif unit := (env("RUNTIME_DIRECTORY") or "").split(":")[0]:
        runtime_dirs = (Path(unit),)
    elif root:
        runtime_dirs = (system,)
    else:
        session = env("XDG_RUNTIME_DIR")
        runtime_dirs = (Path(session) / APP if session else state, system)
    return Places(
        config_file=first(env("EDGEFACED_CONFIG"), f"{systemd_config or config_dir}/{APP}.toml"),
        state_dir=state,
        models_dir=first(env("EDGEFACED_MODELS_DIR"), str(state / "models")),
        credentials_dir=Path(credentials) if credentials else None,
        runtime_dirs=runtime_dirs,
        named_key=Path(named_key).expanduser() if named_key else None,
        of_service=root and not credentials and state == Path(f"/var/lib/{APP}"),
    )


def places_of_this_process() -> Places:
    return places(os.environ, root=os.geteuid() == 0)
