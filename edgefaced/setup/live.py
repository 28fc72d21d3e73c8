"""What a camera sees, in words for somebody who stands in front of it."""

from __future__ import annotations

from typing import Any


def face_found(width_px: float) -> str:
    """A face was found, so wide in the picture."""
    return f"face found, {width_px:.0f} px wide"


def in_plain_words(body: dict[str, Any]) -> str | None:
    """An event's document in one line; None for what is nothing to see."""
    match body["type"]:
        case "face":
            return _decision(body)
        case "left":
            return "the face has left"
        case "camera":
            return f"camera {'works' if body['up'] else 'DOWN'}: {body['detail']}"
        case "access":
            verdict = "opens" if body["granted"] else "stays closed"
            return f"door {body['door']} {verdict}: {body['reason']}"
        case "attendance":
            return f"checked {body['direction']}"
        case "trouble":
            return f"trouble in {body['where']}: {body['detail']}"
        case _:
            return None


def _decision(body: dict[str, Any]) -> str:
    scored = body["score"] is not None
    score = f"; likeness {body['score']:.2f} of {body['threshold']:.2f}" if scored else ""
    match body["outcome"]:
        case "known":
            return f"recognised: {body['name'] or body['id']}{score}"
        case "unknown":
            return f"not enrolled: unknown{score}"
        case "spoof":
            return "no living face"
        case _:
            return f"too poor to judge: {body['reason']}"
