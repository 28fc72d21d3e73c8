"""Which sinks the configuration asks for, and what they need of the machine."""

from __future__ import annotations

import os
import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from edgefaced.config.credential import MQTT_PASSWORD, WEBHOOK_KEY
from edgefaced.config.places import Places
from edgefaced.config.settings import Settings
from edgefaced.config.sinks import CommandSection, LinesSection, MqttSection, WebhookSection
from edgefaced.errors import ConfigError, DependencyMissing, EdgefacedError, extra
from edgefaced.protocols import Delivery, EventSink, SinkPlan
from edgefaced.sinks.command import CommandSink
from edgefaced.sinks.lines import FileLines
from edgefaced.sinks.mqtt.conversation import Broker
from edgefaced.sinks.mqtt.discovery import Entity, standard_entities
from edgefaced.sinks.mqtt.sink import Habits, MqttSink, Obey
from edgefaced.sinks.mqtt.topics import Topics
from edgefaced.sinks.names import GalleryNames
from edgefaced.sinks.posting import Endpoint, Poster, endpoint
from edgefaced.sinks.secret_file import readable, secret
from edgefaced.sinks.selected import SelectedSink
from edgefaced.sinks.signing import NEW_KEY, keys_in
from edgefaced.sinks.webhook import WebhookSink
from edgefaced.sinks.wire import NameOf

Receiver = MqttSection | WebhookSection | CommandSection | LinesSection
Opened = Callable[[NameOf | None], EventSink]
Entities = Callable[[Topics], Sequence[Entity]]


@dataclass(frozen=True, slots=True)
class Choice:
    """A sink whose values are in order; `prepare` reads its files and may find them wanting."""

    name: str
    section: Receiver
    prepare: Callable[[], Opened]


def chosen_sinks(
    settings: Settings,
    places: Places,
    stop: threading.Event,
    *,
    obey: Obey | None = None,
    entities: Entities = standard_entities,
) -> dict[str, SinkPlan]:
    """A plan for every sink that is configured.

    Once `stop` is set no sink waits for long any more. `obey` gets commands by MQTT where they are
    allowed, `entities` are what Home Assistant is told of. Raises ConfigError for values that are
    off; what the machine lacks shows when a plan is opened, and is tried again.
    """
    chosen = _choices(settings, places, stop, obey, entities)
    return {choice.name: _plan(choice, places) for choice in chosen}


def lacking(settings: Settings, places: Places) -> Iterator[tuple[str, EdgefacedError]]:
    """What the configured sinks need and this machine does not have, with the section's name.

    Raises ConfigError for values that are off.
    """
    for choice in _choices(settings, places, threading.Event(), None, standard_entities):
        try:
            choice.prepare()
        except EdgefacedError as error:
            yield choice.name, error


def _choices(
    settings: Settings,
    places: Places,
    stop: threading.Event,
    obey: Obey | None,
    entities: Entities,
) -> Iterator[Choice]:
    mqtt, webhook = settings.mqtt, settings.webhook
    if mqtt.host is not None:
        _judge_mqtt(mqtt)
        yield Choice("mqtt", mqtt, lambda: _mqtt(mqtt, places, stop, obey, entities))
    if webhook.url is not None:
        where = endpoint(webhook.url, plain_http=webhook.plain_http)
        yield Choice("webhook", webhook, lambda: _webhook(webhook, where, places, stop))
    if settings.command.argv:
        yield Choice("command", settings.command, lambda: _command(settings.command, stop))
    path = settings.lines.path
    if path is not None:
        if not path.is_absolute():
            raise ConfigError(f"lines.path = {str(path)!r}: must be absolute", "it starts with /")
        yield Choice("lines", settings.lines, lambda: _lines(path, settings.lines))


def _plan(choice: Choice, places: Places) -> SinkPlan:
    section = choice.section

    def opened() -> EventSink:
        made = choice.prepare()
        kinds, duress = section.kinds, section.duress
        if not section.names:
            return SelectedSink(made(None), kinds, lambda: None, duress=duress)
        names = GalleryNames(places.gallery_file, places.key_file)
        return SelectedSink(made(names.name_of), kinds, names.close, duress=duress)

    return SinkPlan(opened, Delivery.LASTING)


def _judge_mqtt(section: MqttSection) -> None:
    files = (section.ca_file, section.certificate_file, section.key_file)
    if not section.tls and any(files):
        raise ConfigError("mqtt.tls = false: certificates are for TLS", "take one of them away")
    if (section.certificate_file is None) is not (section.key_file is None):
        raise ConfigError("mqtt.certificate_file and mqtt.key_file belong together")
    if section.password_file is not None and section.username is None:
        raise ConfigError("mqtt.password_file without mqtt.username", "a password is somebody's")


def _mqtt(
    section: MqttSection,
    places: Places,
    stop: threading.Event,
    obey: Obey | None,
    entities: Entities,
) -> Opened:
    if find_spec("paho") is None:
        raise DependencyMissing("mqtt.host needs the package paho-mqtt", extra("mqtt"))
    topics = Topics(section.prefix, section.node or this_node())
    broker = Broker(
        host=section.host or "",
        port=section.port or (8883 if section.tls else 1883),
        topics=topics,
        context=_mqtt_trust(section) if section.tls else None,
        username=section.username,
        password=secret("mqtt.password_file", section.password_file, places, MQTT_PASSWORD),
    )
    habits = Habits(
        discovery_prefix=section.discovery_prefix if section.discovery else None,
        entities=entities(topics),
        obey=obey if section.commands else None,
    )
    return lambda name_of: MqttSink(broker, habits, stop=stop, name_of=name_of)


def _mqtt_trust(section: MqttSection) -> ssl.SSLContext:
    context = _trust("mqtt.ca_file", section.ca_file)
    if section.certificate_file is not None and section.key_file is not None:
        certificate = readable("mqtt.certificate_file", section.certificate_file)
        key = readable("mqtt.key_file", section.key_file)
        try:
            # A key with a password would be asked for on the terminal.
            context.load_cert_chain(certificate, key, password=lambda: b"")
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"mqtt.key_file = {str(key)!r}: makes no pair with mqtt.certificate_file",
                "PEM files, the key without a password",
            ) from error
    return context


def _webhook(
    section: WebhookSection, where: Endpoint, places: Places, stop: threading.Event
) -> Opened:
    text = secret("webhook.key_file", section.key_file, places, WEBHOOK_KEY)
    if text is None:
        raise ConfigError("webhook.key_file: a webhook is signed, and there is no key", NEW_KEY)
    keys = keys_in(text, "webhook.key_file")
    context = _trust("webhook.ca_file", section.ca_file) if where.tls else None
    seconds = section.timeout_seconds

    def opened(name_of: NameOf | None) -> EventSink:
        poster = Poster(where, context, seconds=seconds, stop=stop)
        return WebhookSink(poster, where.shown, keys, name_of=name_of)

    return opened


def _command(section: CommandSection, stop: threading.Event) -> Opened:
    program = Path(section.argv[0])
    if not program.is_file():
        raise ConfigError(f"command.argv = {section.argv[0]!r}: there is no such program")
    if not os.access(program, os.X_OK):
        raise ConfigError(f"command.argv = {section.argv[0]!r}: this user may not execute it")
    return lambda name_of: CommandSink(
        section.argv, seconds=section.timeout_seconds, stop=stop, name_of=name_of
    )


def _lines(path: Path, section: LinesSection) -> Opened:
    if path.exists() and not path.is_file():
        raise ConfigError(f"lines.path = {str(path)!r}: is no regular file")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ConfigError(
            f"lines.path = {str(path)!r}: this user cannot write there",
            "the service writes below /var/lib/edgefaced",
        )
    return lambda name_of: FileLines(path, durable=section.durable, name_of=name_of)


def this_node() -> str:
    """The host's name, as one level of a topic."""
    return re.sub("[^A-Za-z0-9_-]", "-", socket.gethostname())[:64] or "edgefaced"


def _trust(key: str, ca_file: Path | None) -> ssl.SSLContext:
    """Certificates are checked, and that they are of the host; TLS 1.2 at least."""
    if ca_file is None:
        return ssl.create_default_context()
    try:
        return ssl.create_default_context(cafile=readable(key, ca_file))
    except OSError as error:
        raise ConfigError(f"{key} = {str(ca_file)!r}: holds no certificates in PEM") from error
