"""The values of the gallery room."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from edgefaced.types import F32, Embedding


@dataclass(frozen=True, slots=True)
class Consent:
    """What a person agreed to, in the installer's words, and when (UTC)."""

    note: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Details:
    """What other systems know a person by: their own id, and groups in the order of names."""

    external_id: str | None = None
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Person:
    """One enrolled person; without templates they are known by name only and never match."""

    id: str
    name: str
    templates: int
    model_ids: tuple[str, ...]
    enrolled_at: datetime
    consent: Consent | None
    details: Details = Details()


@dataclass(frozen=True, slots=True, eq=False)
class NewTemplate:
    """An embedding to enrol and, where pictures are kept, the aligned picture it came from."""

    embedding: Embedding
    picture_png: bytes | None = None


@dataclass(frozen=True, slots=True, eq=False)
class StoredTemplate:
    """One template as it lies in the gallery."""

    person_id: str
    embedding: Embedding
    added_at: datetime
    picture_png: bytes | None


@dataclass(frozen=True, slots=True, eq=False)
class TemplateTable:
    """Every template of one model at one revision of the gallery.

    `vectors` is (n, d) float32, own memory; row i belongs to `person_ids[owners[i]]`.
    """

    vectors: F32
    owners: NDArray[np.intp]
    person_ids: tuple[str, ...]
    revision: int


class ChangeKind(StrEnum):
    """What happened to a person."""

    ENROLLED = "enrolled"
    TEMPLATES = "templates"
    RENAMED = "renamed"
    DESCRIBED = "described"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Change:
    """One committed change; it carries no name and no vector."""

    revision: int
    person_id: str
    kind: ChangeKind


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes after a revision, oldest first; not `complete` where older ones were trimmed."""

    items: tuple[Change, ...]
    revision: int
    complete: bool


@dataclass(frozen=True, slots=True)
class Removal:
    """What a removal took; `scrubbed` says that no byte of it is left in the gallery's files."""

    people: int
    templates: int
    pictures: int
    scrubbed: bool
