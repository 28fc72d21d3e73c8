"""What is written once everything is answered: secrets, the old configuration beside, the new."""

from __future__ import annotations

import base64
import grp
import os
import secrets
import stat
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from edgefaced.config.credential import service_credential
from edgefaced.config.settings import Settings, parse_settings, read_settings
from edgefaced.service import units
from edgefaced.service.installation import Wish, install_steps, reach_of
from edgefaced.service.place import UNIT, Accounts, Place
from edgefaced.service.steps import Run, Step, WriteFile
from edgefaced.setup.amend import SecretPlaces, amended
from edgefaced.setup.answers import Answers
from edgefaced.setup.commented import commented
from edgefaced.setup.wishes import Standing
from edgefaced.sinks.signing import PREFIX

PRIVATE, SHARED = 0o600, 0o640
KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class Draft:
    """A configuration that is in order, and what goes with it; nothing is written yet."""

    path: Path
    text: str
    settings: Settings
    changed: bool
    files: tuple[Step, ...] = field(repr=False)

    @property
    def backup(self) -> Path:
        """Where the configuration of before is kept."""
        return self.path.with_name(self.path.name + ".bak")


def standing_at(path: Path) -> Standing:
    """The configuration so far. Raises ConfigError where it is not in order."""
    settings = read_settings(path)
    return Standing(tomllib.loads(path.read_text()) if path.exists() else {}, settings)


def draft_of(path: Path, standing: Standing, answers: Answers, place: Place) -> Draft:
    """Raises ConfigError or UsageError for answers that do not fit together."""
    beside = SecretPlaces(path.with_name("mqtt.password"), path.with_name("webhook.key"))
    table = amended(standing.table, answers, SecretPlaces() if answers.service else beside)
    text = commented(table, units.sample_configuration(), _head())
    draft = Draft(
        path, text, parse_settings(text.encode(), path), table != standing.table, files=()
    )
    kept = place.secrets if answers.service else (beside.mqtt_password, beside.webhook_key)
    passwords = _secrets(standing, answers, *kept)
    return replace(draft, files=(*passwords, *_configuration(draft)))


def service_steps(place: Place, executable: Path, draft: Draft, *, active: bool) -> list[Step]:
    """Those of the service, with this configuration."""
    steps = install_steps(place, Wish(executable, reach=reach_of(draft.settings)), active=active)
    if not draft.path.exists():  # a sample would be planned in its place
        steps = [
            step
            for step in steps
            if not (isinstance(step.action, WriteFile) and step.action.path == draft.path)
        ]
    return with_news(steps, draft)


def with_news(steps: list[Step], draft: Draft) -> list[Step]:
    """A service that runs is started anew where there is something new for it to read."""
    news = draft.changed or any(step.needed for step in draft.files)
    again = Run(("systemctl", "restart", UNIT))
    return [replace(s, needed=s.needed or (news and s.action == again)) for s in steps]


def _secrets(
    standing: Standing, answers: Answers, password: Path | None, key: Path | None
) -> Iterator[Step]:
    if answers.mqtt is not None and answers.mqtt.password is not None and password is not None:
        write = WriteFile(password, answers.mqtt.password + "\n", PRIVATE)
        yield Step(f"write {password}", "the broker's password, for the daemon alone", write)
    if answers.webhook is None or key is None:
        return
    had = standing.settings.webhook.key_file or key
    text = PREFIX + base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode() + "\n"
    # As `service_credential`: only root may look into systemd's folders.
    there = os.path.exists(had)  # noqa: PTH110 - the other raises
    needed = not there and (not answers.service or service_credential(key.name) is None)
    why = "the key that signs what the webhook is sent; its receiver needs it as well"
    yield Step(f"write {had}", why, WriteFile(had, text, PRIVATE), needed)


def _configuration(draft: Draft) -> Iterator[Step]:
    path = draft.path
    mode, group = _mode_and_group(path)
    if path.exists() and draft.changed:
        old = WriteFile(draft.backup, path.read_text(), mode, group)
        yield Step(f"write {draft.backup}", "the configuration as it was until now", old)
    yield Step(
        f"write {path}",
        "every key that was set, with its comment",
        WriteFile(path, draft.text, mode, group),
        needed=draft.changed,
    )


def _mode_and_group(path: Path) -> tuple[int, str | None]:
    """As it is; a new one of root's is shared with the service, once there is one."""
    if path.exists():
        status = path.stat()
        try:
            group = grp.getgrgid(status.st_gid).gr_name
        except KeyError:
            group = None
        return stat.S_IMODE(status.st_mode), group
    if os.geteuid() != 0:
        return PRIVATE, None
    return SHARED, units.USER if Accounts().group_id(units.USER) is not None else None


def _head() -> str:
    return (
        "Configuration of edgefaced, written by `edgefaced setup`: every key that was set. All\n"
        f"others have their defaults; they are explained in {units.sample_file()}\n"
        "and shown by `edgefaced config show`. `edgefaced config check` says whether all is in\n"
        "order; `edgefaced setup` asks again, with what stands here as the answers."
    )
