"""An event's document as bytes for other programs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

from edgefaced.events import Event
from edgefaced.sinks.shape import document, person_of

NameOf = Callable[[str], str | None]
"""A person's name by id; None for who is not enrolled (any more)."""


def described(event: Event, name_of: NameOf | None = None) -> dict[str, Any]:
    """The document, with the person's name where the reader may know names."""
    person = None if name_of is None else person_of(event)
    return document(event, None if name_of is None or person is None else name_of(person))


def packed(body: dict[str, Any]) -> bytes:
    """One line of JSON in ASCII, which any reader understands: what is no number is null."""
    return json.dumps(
        {key: None if _no_number(value) else value for key, value in body.items()},
        allow_nan=False,
        separators=(",", ":"),
    ).encode("ascii")


def _no_number(value: object) -> bool:
    return isinstance(value, float) and not math.isfinite(value)
