"""The sections of those whom events are sent to."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Literal, get_args
from urllib.parse import urlsplit

from pydantic import Field, field_serializer, field_validator

from edgefaced.config.section import Section

Kind = Literal[
    "face",
    "left",
    "pace",
    "camera",
    "trouble",
    "access",
    "door",
    "pulse",
    "button",
    "attendance",
    "correction",
    "redaction",
]
"""What an event's document has as its "type"."""
ALL_KINDS: tuple[Kind, ...] = get_args(Kind)
Kinds = Annotated[tuple[Kind, ...], Field(min_length=1)]

TopicLevel = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
"""One level of a topic: nothing that MQTT or Home Assistant reads as something else."""


class MqttSection(Section):
    """Events to an MQTT broker; needs the extra "mqtt"."""

    host: Annotated[str, Field(pattern=r"^[A-Za-z0-9._:-]{1,253}$")] | None = None
    """A name or an address without scheme and port. Absent: no MQTT."""
    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    """Absent: 8883, without TLS 1883."""
    tls: bool = True
    ca_file: Path | None = None
    """Whose certificates are believed; absent: the system's authorities."""
    certificate_file: Path | None = None
    key_file: Path | None = None
    """Certificate and key of this device, where the broker asks for them."""
    username: Annotated[str, Field(min_length=1)] | None = None
    password_file: Path | None = None
    """Absent: the credential `edgefaced-mqtt-password` where the unit has one."""
    prefix: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}(/[A-Za-z0-9_-]{1,64}){0,4}$")] = (
        "edgefaced"
    )
    node: TopicLevel | None = None
    """This device among those of the broker; absent: the host's name."""
    discovery: bool = True
    """Home Assistant finds the device by itself."""
    discovery_prefix: TopicLevel = "homeassistant"
    commands: bool = False
    """Whether messages to PREFIX/NODE/command/... are obeyed; retained ones never are."""
    kinds: Kinds = ALL_KINDS
    names: bool = False
    """Whether people's names leave the device, or their ids only."""
    duress: bool = False
    """Whether it is told of duress alarms: nobody who can see it may stand at the door."""


class WebhookSection(Section):
    """Events to a web server, one signed POST each."""

    url: Annotated[str, Field(min_length=1)] | None = None
    """https; what follows the host may be a secret and is shown nowhere. Absent: no webhook."""
    plain_http: bool = False
    """Allows http to other hosts than this one."""
    ca_file: Path | None = None
    """Whose certificates are believed; absent: the system's authorities."""
    key_file: Path | None = None
    """Keys of the signature; absent: the credential `edgefaced-webhook-key`."""
    timeout_seconds: Annotated[float, Field(ge=1, le=20)] = 10.0
    """For the whole exchange."""
    kinds: Kinds = ALL_KINDS
    names: bool = False
    duress: bool = False

    @field_serializer("url", when_used="json-unless-none")
    def _without_secrets(self, url: str) -> str:
        return shown_url(url)


class CommandSection(Section):
    """Events to a program, one call each."""

    argv: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """The program's absolute path and its arguments; empty: no program."""
    timeout_seconds: Annotated[float, Field(ge=0.1, le=20)] = 10.0
    """What is not over by then is killed, with its children."""
    network: bool = False
    """Whether the service is set up so that the program can reach the network."""
    kinds: Kinds = ALL_KINDS
    names: bool = False
    duress: bool = False

    @field_validator("argv")
    @classmethod
    def _is_a_program(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if value and not value[0].startswith("/"):
            raise ValueError("the program is an absolute path; there is no shell that searches")
        if any("\0" in word for word in value):
            raise ValueError("no argument holds a NUL")
        return value


class LinesSection(Section):
    """Events to a file, one line of JSON each."""

    path: Path | None = None
    """Absent: no file."""
    durable: bool = True
    """Each line is on the disk before the next event is taken."""
    kinds: Kinds = ALL_KINDS
    names: bool = False
    duress: bool = False


def is_loopback(host: str) -> bool:
    """Whether a host, as it is written, can only be this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def host_in(url: str) -> str:
    """The host of a URL, without brackets; empty where there is none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def shown_url(url: str) -> str:
    """Scheme, host and port of a URL: what may stand in a log."""
    try:
        parts = urlsplit(url)
        port = "" if parts.port is None else f":{parts.port}"
    except ValueError:
        return "…"
    host = parts.hostname or "…"
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme or '…'}://{host}{port}/…"
