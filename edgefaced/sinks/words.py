"""An event's document as one line for a person."""

from __future__ import annotations

from typing import Any


def in_words(body: dict[str, Any]) -> str:
    """One line; it may hold characters from outside, which the caller makes harmless."""
    return _said(body) + ("" if body.get("recorded", True) else " [not recorded]")


def _said(body: dict[str, Any]) -> str:
    match body["type"]:
        case "face" | "left" if "outcome" in body:
            who = body["name"] or body["id"] or body["outcome"]
            score = body["score"]
            shown = "" if score is None else f" {score:.3f} of {body['threshold']:.3f}"
            what = "" if body["type"] == "face" else f" has left after {body['seconds']} s"
            return f"face {body['track']}: {who}{what} ({body['reason']}{shown})"
        case "left":
            return f"face {body['track']}: has left after {body['seconds']} s, not judged"
        case "camera":
            return f"camera {'up' if body['up'] else 'DOWN'}: {body['detail']}"
        case "pace":
            celsius = body["celsius"]
            heat = "no temperature" if celsius is None else f"{celsius:g} °C"
            return f"pace {body['band']} ({body['cause']}, {heat})"
        case "access":
            who = body["name"] or body["id"] or "somebody"
            verdict = "granted" if body["granted"] else "refused"
            duress = ", DURESS" if body["duress"] else ""
            return f"door {body['door']}: {verdict} to {who} ({body['reason']}{duress})"
        case "door":
            return f"door {body['door']}: {body['state']} ({body['cause']})"
        case "pulse":
            return f"door {body['door']}: unlocked for {body['milliseconds']} ms at most"
        case "button":
            return f"button: {body['direction']}"
        case "attendance":
            return f"{body['name'] or body['id']} checked {body['direction']} ({body['source']})"
        case "correction":
            return (
                f"attendance of {body['name'] or body['id']}: {body['correction']} by "
                f"{body['by']} ({body['reason']})"
            )
        case "redaction":
            return f"ledger: the contents of {body['records']} records were taken out"
        case "trouble":
            return f"trouble in {body['where']}: {body['detail']}"
        case other:
            return f"{other}: recorded by another version of edgefaced"
