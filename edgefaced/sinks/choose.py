"""Which sinks the configuration asks for. All that can be wrong with them is said here, at once."""

from __future__ import annotations

import os
import re
import socket
import ssl
import threading
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from edgefaced.config.places import Places
from edgefaced.config.settings import Settings
from edgefaced.config.sinks import CommandSection, LinesSection, MqttSection, WebhookSection
from edgefaced.errors import ConfigError, DependencyMissing, extra
from edgefaced.protocols import Delivery, EventSink, SinkPlan
from edgefaced.sinks.command import CommandSink
from edgefaced.sinks.lines import FileLines
from edgefaced.sinks.mqtt.conversation import Broker
from edgefaced.sinks.mqtt.discovery import Entity, standard_entities
from edgefaced.sinks.mqtt.sink import Habits, MqttSink, Obey
from edgefaced.sinks.mqtt.topics import Topics
from edgefaced.sinks.names import GalleryNames
from edgefaced.sinks.posting import Poster, endpoint
from edgefaced.sinks.secret_file import readable, secret
from edgefaced.sinks.selected import SelectedSink
from edgefaced.sinks.signing import keys_in
from edgefaced.sinks.webhook import WebhookSink
from edgefaced.sinks.wire import NameOf

PASSWORD = "edgefaced-mqtt-password"  # noqa: S105 - the credential's name
SIGNING_KEY = "edgefaced-webhook-key"

Receiver = MqttSection | WebhookSection | CommandSection | LinesSection
Opened = Callable[[NameOf | None], EventSink]
Entities = Callable[[Topics], Sequence[Entity]]


def chosen_sinks(
    settings: Settings,
    places: Places,
    stop: threading.Event,
    *,
    obey: Obey | None = None,
    entities: Entities = standard_entities,
) -> dict[str, SinkPlan]:
    """A plan for every sink that is configured; nothing is opened, but files are read.

    Once `stop` is set no sink waits any longer. `obey` gets commands by MQTT where they are
    allowed, `entities` are what Home Assistant is told of. Raises ConfigError for a file that is
    absent, open to everybody or not what it should be, DependencyMissing.
    """
    plans: dict[str, SinkPlan] = {}

    def add(
        name: str,
        section: MqttSection | WebhookSection | CommandSection | LinesSection,
        open_: Opened,
    ) -> None:
        def opened() -> EventSink:
            if not section.names:
                return SelectedSink(open_(None), section.kinds, lambda: None)
            names = GalleryNames(places.gallery_file, places.key_file)
            return SelectedSink(open_(names.name_of), section.kinds, names.close)

        plans[name] = SinkPlan(opened, Delivery.LASTING)

    if settings.mqtt.host is not None:
        add("mqtt", settings.mqtt, _mqtt(settings.mqtt, places, stop, obey, entities))
    if settings.webhook.url is not None:
        add("webhook", settings.webhook, _webhook(settings.webhook, places, stop))
    if settings.command.argv:
        add("command", settings.command, _command(settings.command, stop))
    if settings.lines.path is not None:
        add("lines", settings.lines, _lines(settings.lines.path, settings.lines))
    return plans


def _mqtt(
    section: MqttSection,
    places: Places,
    stop: threading.Event,
    obey: Obey | None,
    entities: Entities,
) -> Opened:
    if find_spec("paho") is None:
        raise DependencyMissing("[mqtt] needs paho-mqtt", extra("mqtt"))
    password = secret("mqtt.password_file", section.password_file, places, PASSWORD)
    if section.password_file is not None and section.username is None:
        raise ConfigError("mqtt.password_file without mqtt.username", "a password is somebody's")
    topics = Topics(section.prefix, section.node or this_node())
    broker = Broker(
        host=section.host or "",
        port=section.port or (8883 if section.tls else 1883),
        topics=topics,
        context=_mqtt_trust(section),
        username=section.username,
        password=password,
    )
    habits = Habits(
        discovery_prefix=section.discovery_prefix if section.discovery else None,
        entities=entities(topics),
        obey=obey if section.commands else None,
    )
    return lambda name_of: MqttSink(broker, habits, stop=stop, name_of=name_of)


def _mqtt_trust(section: MqttSection) -> ssl.SSLContext | None:
    files = (section.ca_file, section.certificate_file, section.key_file)
    if not section.tls:
        if any(files):
            raise ConfigError("mqtt.tls = false: certificates are for TLS", "take one of them away")
        return None
    context = _trust("mqtt.ca_file", section.ca_file)
    if (section.certificate_file is None) is not (section.key_file is None):
        raise ConfigError("mqtt.certificate_file and mqtt.key_file belong together")
    if section.certificate_file is not None and section.key_file is not None:
        certificate = readable("mqtt.certificate_file", section.certificate_file)
        key = readable("mqtt.key_file", section.key_file)
        try:
            # A key with a password would be asked for on the terminal.
            context.load_cert_chain(certificate, key, password=lambda: b"")
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"mqtt.key_file = {str(key)!r}: with mqtt.certificate_file it makes no pair",
                "PEM files, the key without a password",
            ) from error
    return context


def _webhook(section: WebhookSection, places: Places, stop: threading.Event) -> Opened:
    where = endpoint(section.url or "", plain_http=section.plain_http)
    text = secret("webhook.key_file", section.key_file, places, SIGNING_KEY)
    if text is None:
        raise ConfigError(
            "webhook.key_file: a webhook is signed, and there is no key",
            "(printf whsec_; head -c 32 /dev/urandom | base64) > FILE",
        )
    keys = keys_in(text, "webhook.key_file")
    context = _trust("webhook.ca_file", section.ca_file) if where.tls else None
    seconds = section.timeout_seconds

    def opened(name_of: NameOf | None) -> EventSink:
        poster = Poster(where, context, seconds=seconds, stop=stop)
        return WebhookSink(poster, where.shown, keys, name_of=name_of)

    return opened


def _command(section: CommandSection, stop: threading.Event) -> Opened:
    program = Path(section.argv[0])
    if not program.is_file() or not os.access(program, os.X_OK):
        why = "cannot be executed by this user" if program.is_file() else "there is no such program"
        raise ConfigError(f"command.argv = {section.argv[0]!r}: {why}")
    return lambda name_of: CommandSink(
        section.argv, seconds=section.timeout_seconds, stop=stop, name_of=name_of
    )


def _lines(path: Path, section: LinesSection) -> Opened:
    if not path.is_absolute():
        raise ConfigError(f"lines.path = {str(path)!r}: must be absolute", "it starts with /")
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK | os.X_OK):
        raise ConfigError(
            f"lines.path = {str(path)!r}: its folder is absent or cannot be written",
            "the service may write below /var/lib/edgefaced",
        )
    if path.exists() and not path.is_file():
        raise ConfigError(f"lines.path = {str(path)!r}: is no regular file")
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
