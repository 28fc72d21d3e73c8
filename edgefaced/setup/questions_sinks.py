"""To whom events go besides the ledger."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from edgefaced.errors import UsageError
from edgefaced.setup.answers import MqttAnswer, Part
from edgefaced.setup.asking import Asker, Question
from edgefaced.setup.wishes import Standing, Wishes, text

NONE = "none"

ANY = Question(
    "Shall events go to other machines or programs as well?",
    "they are kept on this device in any case",
    "--mqtt, --webhook, --lines",
)
HOST = Question("MQTT broker?", f'a name or an address, or "{NONE}"', "--mqtt")
TLS = Question(
    "Does the broker speak TLS?", "without, anybody on the way can read along", "--mqtt-plain"
)
USER = Question("Its user name?", f'or "{NONE}"', "--mqtt-user")
PASSWORD = Question(
    "Its password?",
    "kept in a file of its own, never in the configuration; empty: as it is",
    "--mqtt-password-file",
)
URL = Question("Web address for a webhook?", f'https://..., or "{NONE}"', "--webhook")
LINES = Question("File for lines of JSON?", f'an absolute path, or "{NONE}"', "--lines")


@dataclass(frozen=True, slots=True)
class Sinks:
    """Those that were answered; `without` are those that are not wanted any more."""

    mqtt: MqttAnswer | None = None
    webhook: str | None = field(default=None, repr=False)
    lines: Path | None = None
    without: frozenset[Part] = frozenset()


def ask_sinks(asker: Asker, wishes: Wishes, standing: Standing) -> Sinks:
    """Raises UsageError."""
    if wishes.mqtt is None and (wishes.mqtt_user or wishes.mqtt_password or wishes.mqtt_ca):
        raise UsageError("an option of --mqtt without it", "say --mqtt as well")
    settings = standing.settings
    have: dict[Part, str | None] = {
        "mqtt": settings.mqtt.host,
        "webhook": settings.webhook.url,
        "lines": None if settings.lines.path is None else str(settings.lines.path),
    }
    said: dict[Part, str | None] = {
        "mqtt": wishes.mqtt,
        "webhook": wishes.webhook,
        "lines": None if wishes.lines is None else str(wishes.lines),
    }
    questions: dict[Part, Question] = {"mqtt": HOST, "webhook": URL, "lines": LINES}
    wanted = dict(said)
    if asker.present and not any(said.values()) and asker.agree(ANY, default=any(have.values())):
        for part, question in questions.items():
            if part not in wishes.without:
                wanted[part] = asker.text(question, have[part] or NONE, _or_none)
        gone = frozenset(part for part, place in have.items() if place and not wanted[part])
    else:
        gone = frozenset[Part]()
    host, lines = wanted["mqtt"], wanted["lines"]
    return Sinks(
        None if host is None else _mqtt(asker, wishes, standing, host),
        wanted["webhook"],
        None if lines is None else Path(lines).absolute(),
        gone,
    )


def _mqtt(asker: Asker, wishes: Wishes, standing: Standing, host: str) -> MqttAnswer:
    section = standing.settings.mqtt
    tls = not wishes.mqtt_plain and asker.agree(TLS, default=section.tls)
    user = text(asker, USER, wishes.mqtt_user, section.username or NONE, _or_none)
    password = wishes.mqtt_password
    if user is not None and password is None:
        password = asker.secret(PASSWORD)
    ca_file = wishes.mqtt_ca.absolute() if wishes.mqtt_ca else section.ca_file
    return MqttAnswer(
        host, wishes.mqtt_port or section.port, tls, ca_file if tls else None, user, password
    )


def _or_none(answer: str) -> str | None:
    return None if answer in ("", NONE) else answer
