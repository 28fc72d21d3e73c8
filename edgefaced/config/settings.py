"""The whole configuration, and reading it from a file."""

from __future__ import annotations

import tomllib
from pathlib import Path

from pydantic import Field, ValidationError

from edgefaced.config.attendance import AttendanceSection
from edgefaced.config.doors import (
    AccessSection,
    DoorSection,
    GroupSection,
    PlainName,
    ScheduleSection,
    Text,
)
from edgefaced.config.ledger import LedgerSection
from edgefaced.config.pictures import PicturesSection
from edgefaced.config.presence import PresenceSection
from edgefaced.config.section import Section
from edgefaced.config.sections import (
    CameraSection,
    ControlSection,
    DetectionSection,
    GallerySection,
    InferenceSection,
    MetricsSection,
    ModelsSection,
    PolicySection,
    QualitySection,
    RecognitionSection,
    ThermalSection,
)
from edgefaced.config.sinks import CommandSection, LinesSection, MqttSection, WebhookSection
from edgefaced.errors import ConfigError


class Settings(Section):
    """The whole configuration."""

    camera: CameraSection = CameraSection()
    models: ModelsSection = ModelsSection()
    inference: InferenceSection = InferenceSection()
    detection: DetectionSection = DetectionSection()
    recognition: RecognitionSection = RecognitionSection()
    quality: QualitySection = QualitySection()
    gallery: GallerySection = GallerySection()
    policy: PolicySection = PolicySection()
    presence: PresenceSection = PresenceSection()
    thermal: ThermalSection = ThermalSection()
    metrics: MetricsSection = MetricsSection()
    control: ControlSection = ControlSection()
    ledger: LedgerSection = LedgerSection()
    pictures: PicturesSection = PicturesSection()
    attendance: AttendanceSection = AttendanceSection()
    mqtt: MqttSection = MqttSection()
    webhook: WebhookSection = WebhookSection()
    command: CommandSection = CommandSection()
    lines: LinesSection = LinesSection()
    access: AccessSection = AccessSection()
    doors: dict[PlainName, DoorSection] = Field(default_factory=dict)
    schedules: dict[PlainName, ScheduleSection] = Field(default_factory=dict)
    groups: dict[Text, GroupSection] = Field(default_factory=dict)


def read_settings(path: Path, *, required: bool = False) -> Settings:
    """Settings of a file; the defaults where it is absent and not `required`.

    Raises ConfigError with the key path, the value and what is allowed.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        # Reading a pipe or a device might never end.
        raise ConfigError(f"{path}: is no regular file", "the configuration is a TOML file")
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        if required:
            raise ConfigError(f"no configuration at {path}", "check the path") from None
        return Settings()
    except OSError as error:
        raise ConfigError(
            f"{path}: {error.strerror}", "the configuration must be readable"
        ) from error
    return parse_settings(text, path)


def parse_settings(text: bytes, path: Path) -> Settings:
    """Settings of a file's text. Raises ConfigError, which names the file."""
    try:
        table = tomllib.loads(text.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}", "the configuration is a TOML file") from error
    try:
        return Settings.model_validate(table)
    except ValidationError as error:
        fault = error.errors()[0]
        key = ".".join(str(part) for part in fault["loc"])
        # What stands at a key that does not exist may be a password, and this goes into a log.
        value = "" if fault["type"] == "extra_forbidden" else f" = {fault['input']!r}"
        raise ConfigError(
            f"{path}: {key}{value}: {fault['msg']}",
            "`edgefaced config show` lists every key",
        ) from error
