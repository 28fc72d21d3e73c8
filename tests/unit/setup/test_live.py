"""What a camera sees, in words."""

from __future__ import annotations

from typing import Any

import pytest

from edgefaced.setup.live import face_found, in_plain_words

FACE: dict[str, Any] = {
    "type": "face",
    "outcome": "known",
    "name": "Ann",
    "id": "1",
    "score": 0.5843,
    "threshold": 0.397,
    "reason": "frames agree",
}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (FACE, "recognised: Ann; likeness 0.58 of 0.40"),
        (FACE | {"name": None}, "recognised: 1; likeness 0.58 of 0.40"),
        (
            FACE | {"outcome": "unknown", "score": 0.2},
            "not enrolled: unknown; likeness 0.20 of 0.40",
        ),
        (FACE | {"outcome": "unknown", "score": None}, "not enrolled: unknown"),
        (FACE | {"outcome": "too-poor", "reason": "dark"}, "too poor to judge: dark"),
        (FACE | {"outcome": "spoof"}, "no living face"),
        ({"type": "left"}, "the face has left"),
        ({"type": "camera", "up": True, "detail": "C920"}, "camera works: C920"),
        ({"type": "camera", "up": False, "detail": "unplugged"}, "camera DOWN: unplugged"),
        (
            {"type": "access", "door": "front", "granted": True, "reason": "allowed"},
            "door front opens: allowed",
        ),
        (
            {"type": "access", "door": "front", "granted": False, "reason": "liveness"},
            "door front stays closed: liveness",
        ),
        ({"type": "attendance", "direction": "in"}, "checked in"),
        ({"type": "trouble", "where": "mqtt", "detail": "away"}, "trouble in mqtt: away"),
        ({"type": "lost", "events": 3}, None),
    ],
)
def test_events_in_words(body: dict[str, Any], said: str | None) -> None:
    assert in_plain_words(body) == said


def test_how_large_a_face_is() -> None:
    assert face_found(139.6) == "face found, 140 px wide"
