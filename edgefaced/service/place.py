"""Where the service lies: on this machine, or in a tree that will be one."""

from __future__ import annotations

import grp
import pwd
from dataclasses import dataclass
from pathlib import Path

from edgefaced.config.credential import MQTT_PASSWORD, WEBHOOK_KEY
from edgefaced.config.places import Places, places
from edgefaced.storage.keyfile import CREDENTIAL

UNIT = "edgefaced.service"


@dataclass(frozen=True, slots=True)
class Place:
    """Paths of the service. `root` is the tree's folder; None is this machine."""

    root: Path | None = None

    def at(self, path: str | Path) -> Path:
        """Where a path of the machine is found from here."""
        return Path(path) if self.root is None else self.root / Path(path).relative_to("/")

    @property
    def unit(self) -> Path:
        return self.at(f"/etc/systemd/system/{UNIT}")

    @property
    def packaged(self) -> bool:
        """Whether a distribution's package brought the unit, and with it user and devices."""
        return not self.unit.exists() and self.at(f"/usr/lib/systemd/system/{UNIT}").exists()

    @property
    def installed(self) -> bool:
        """Whether there is a unit, ours or a package's."""
        return self.unit.exists() or self.packaged

    @property
    def drop_ins(self) -> Path:
        return self.at(f"/etc/systemd/system/{UNIT}.d")

    @property
    def reach(self) -> Path:
        """Our own drop-in; others in that folder are the administrator's."""
        return self.drop_ins / "50-edgefaced-reach.conf"

    @property
    def wanted(self) -> Path:
        """The link that starts the unit at boot."""
        return self.at(f"/etc/systemd/system/multi-user.target.wants/{UNIT}")

    @property
    def sysusers(self) -> Path:
        return self.at("/etc/sysusers.d/edgefaced.conf")

    @property
    def tmpfiles(self) -> Path:
        return self.at("/etc/tmpfiles.d/edgefaced.conf")

    @property
    def rules(self) -> Path:
        return self.at("/etc/udev/rules.d/60-edgefaced.rules")

    @property
    def runtime(self) -> Path:
        return self.at("/run/edgefaced")

    @property
    def credential(self) -> Path:
        """The gallery's key where an administrator keeps it as a credential."""
        return self.at(f"/etc/credstore/{CREDENTIAL}")

    @property
    def secrets(self) -> tuple[Path, ...]:
        """The password of the broker and the webhook's key, where `edgefaced setup` puts them."""
        store = self.credential.parent
        return store / MQTT_PASSWORD, store / WEBHOOK_KEY

    @property
    def files(self) -> Places:
        """Configuration, gallery and models as the service sees them, found from here."""
        own = places({}, root=True)
        return Places(self.at(own.config_file), self.at(own.state_dir), self.at(own.models_dir))


@dataclass(frozen=True, slots=True)
class Accounts:
    """Users and groups of a place, by name."""

    root: Path | None = None

    def user_id(self, name: str) -> int | None:
        if self.root is not None:
            return self._id_in("passwd", name)
        try:
            return pwd.getpwnam(name).pw_uid
        except KeyError:
            return None

    def group_id(self, name: str) -> int | None:
        if self.root is not None:
            return self._id_in("group", name)
        try:
            return grp.getgrnam(name).gr_gid
        except KeyError:
            return None

    def home(self, name: str) -> Path | None:
        entry = self._entry("passwd", name) if self.root is not None else None
        if entry is not None:
            return Path(entry[5])
        try:
            return Path(pwd.getpwnam(name).pw_dir) if self.root is None else None
        except KeyError:
            return None

    def _id_in(self, database: str, name: str) -> int | None:
        entry = self._entry(database, name)
        return None if entry is None else int(entry[2])

    def _entry(self, database: str, name: str) -> list[str] | None:
        file = Path("/etc" if self.root is None else self.root / "etc", database)
        for line in file.read_text().splitlines() if file.exists() else ():
            fields = line.split(":")
            if fields[0] == name:
                return fields
        return None
