"""A calibration set: faces and frames of measured conditions, in two parts, in one file.

A zip of PNG pictures and `set.json`, sealed where the pictures are a device's. One part calibrates
a network, the other, of other pictures, proves what came out of it.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from edgefaced.errors import UsageError
from edgefaced.gallery.export_file import write_export
from edgefaced.types import U8
from edgefaced_convert.conditions import Figures
from edgefaced_convert.sealing import is_sealed, seal, unseal
from edgefaced_convert.statistics import Statistics, parse_statistics, to_json

SET_VERSION = 1
TABLE = "set.json"
LARGEST_BYTES = 1 << 30


class Part(StrEnum):
    """What a picture of the set is for."""

    CALIBRATE = "calibrate"
    HELD_OUT = "held-out"


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """One picture, RGB: an aligned face (112, 112, 3), or a frame; `figures` of its main face."""

    pixels: U8
    part: Part
    figures: Figures | None


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationSet:
    """Pictures and where they are from; `consent` is who agreed and when, "" for public ones."""

    source: str
    consent: str
    made: str
    faces: tuple[Sample, ...]
    frames: tuple[Sample, ...]
    statistics: Statistics

    def of(self, samples: Sequence[Sample], part: Part) -> list[U8]:
        """The pictures of one part."""
        return [sample.pixels for sample in samples if sample.part is part]


def write_set(
    path: Path, calibration: CalibrationSet, passphrase: str | None, *, overwrite: bool
) -> int:
    """Writes the file, mode 0600, and gives its size. Raises StorageError, Refused, UsageError."""
    buffer = io.BytesIO()
    table: dict[str, Any] = {
        "set": SET_VERSION,
        "source": calibration.source,
        "consent": calibration.consent,
        "made": calibration.made,
        "statistics": json.loads(to_json(calibration.statistics)),
    }
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for kind, samples in (("faces", calibration.faces), ("frames", calibration.frames)):
            table[kind] = []
            for number, sample in enumerate(samples):
                name = f"{kind}/{number:04}.png"
                archive.writestr(name, _encoded(sample.pixels))
                figures = asdict(sample.figures) if sample.figures else None
                table[kind].append({"file": name, "part": sample.part, "figures": figures})
        archive.writestr(TABLE, json.dumps(table, indent=1))
    content = buffer.getvalue()
    if passphrase is not None:
        content = seal(content, passphrase)
    write_export(path, content, overwrite=overwrite)
    return len(content)


def read_set(path: Path, passphrase: str | None) -> CalibrationSet:
    """Raises UsageError for what is no set, and for a sealed one without its passphrase."""
    try:
        content = path.read_bytes() if path.stat().st_size <= LARGEST_BYTES else b""
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", "`calibrate-set build` makes one") from error
    if is_sealed(content):
        if passphrase is None:
            raise UsageError(f"{path} is sealed", "give --passphrase-file")
        content = unseal(content, passphrase, str(path))
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            table = json.loads(archive.read(TABLE))
            if table["set"] != SET_VERSION:
                raise UsageError(f"{path} has version {table['set']}", "make it again")
            return CalibrationSet(
                source=str(table["source"]),
                consent=str(table["consent"]),
                made=str(table["made"]),
                faces=_samples(archive, table["faces"]),
                frames=_samples(archive, table["frames"]),
                statistics=parse_statistics(json.dumps(table["statistics"]), str(path)),
            )
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, cv2.error) as error:
        raise UsageError(f"{path} is no calibration set: {error}", "make it again") from error


def _samples(archive: zipfile.ZipFile, rows: list[dict[str, Any]]) -> tuple[Sample, ...]:
    return tuple(
        Sample(
            _decoded(archive.read(row["file"])),
            Part(row["part"]),
            Figures(**row["figures"]) if row["figures"] else None,
        )
        for row in rows
    )


def _encoded(pixels: U8) -> bytes:
    _, data = cv2.imencode(".png", cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR))
    return bytes(data)


def _decoded(data: bytes) -> U8:
    picture = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    if picture is None:
        raise ValueError("a picture of it is damaged")
    return np.asarray(cv2.cvtColor(picture, cv2.COLOR_BGR2RGB), np.uint8)
