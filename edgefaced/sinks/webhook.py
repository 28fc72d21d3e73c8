"""Events to a web server: one signed POST each, repeated until it is taken or refused for good."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import Enum

from edgefaced import __version__
from edgefaced.errors import EventRefused, SinkAway
from edgefaced.events import Event
from edgefaced.sinks.posting import Answer, Poster
from edgefaced.sinks.signing import signature
from edgefaced.sinks.wire import NameOf, described, packed

NEVER = frozenset({400, 406, 409, 413, 414, 415, 422, 431})
"""Answers that are about this very event. Others of the 4xx (a wrong key, a wrong path, too many
requests) are about all of them, and end when somebody sets it right: until then events wait."""
CLOCKS_APART_SECONDS = 300
"""Receivers refuse signatures that are older or younger."""
LONGEST_WAIT_SECONDS = 3600.0


class Verdict(Enum):
    """What becomes of an event after an answer."""

    TAKEN = "taken"
    AGAIN = "again"
    NEVER = "never"


class WebhookSink:
    """Posts each event until the server says 2xx, or something that means "never"."""

    def __init__(
        self, poster: Poster, shown: str, keys: Sequence[bytes], *, name_of: NameOf | None = None
    ) -> None:
        """`shown` is what messages call the server."""
        self._poster = poster
        self._shown = shown
        self._keys = tuple(keys)
        self._name_of = name_of
        self._not_before = 0.0

    def emit(self, event: Event) -> None:
        """Raises SinkAway or EventRefused."""
        wait = self._not_before - time.monotonic()
        if wait > 0:
            raise SinkAway(f"{self._shown} wants no request for another {wait:.0f} s")
        body = packed(described(event, self._name_of))
        now = datetime.now(UTC)
        try:
            answer = self._poster.post(self._headers(event, now, body), body)
        except OSError as error:
            raise SinkAway(f"{self._shown}: {error.strerror or error}") from error
        clocks = apart(answer, now)
        verdict = judged(answer.status, clocks)
        if verdict is Verdict.TAKEN:
            return
        said = f"{self._shown} answers {answer.status}"
        if verdict is Verdict.NEVER:
            raise EventRefused(f"{said}: it will never take this event")
        self._not_before = time.monotonic() + asked_to_wait(answer, now)
        raise SinkAway(f"{said}{explained(answer.status, clocks)}")

    def close(self) -> None:
        self._poster.close()

    def _headers(self, event: Event, now: datetime, body: bytes) -> dict[str, str]:
        timestamp = int(now.timestamp())
        return {
            "Content-Type": "application/json",
            "User-Agent": f"edgefaced/{__version__}",
            "Connection": "close",
            "Idempotency-Key": event.id,
            "webhook-id": event.id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": signature(self._keys, event.id, timestamp, body),
        }


def judged(status: int, clocks_apart_seconds: float) -> Verdict:
    """2xx has taken it; what is said about a signature of the wrong time is not about the event."""
    if 200 <= status < 300:
        return Verdict.TAKEN
    in_time = abs(clocks_apart_seconds) <= CLOCKS_APART_SECONDS
    return Verdict.NEVER if status in NEVER and in_time else Verdict.AGAIN


def apart(answer: Answer, now: datetime) -> float:
    """Seconds by which the server's clock is ahead of ours; 0 where it does not say."""
    theirs = _moment(answer.date)
    return 0.0 if theirs is None else (theirs - now).total_seconds()


def asked_to_wait(answer: Answer, now: datetime) -> float:
    """Seconds of `Retry-After`, an hour at most; 0 where there is none."""
    text = (answer.retry_after or "").strip()
    if text.isascii() and text.isdecimal():
        seconds = float(text[:9])
    else:
        until = _moment(text)
        # By the server's clock, where it says what that is.
        start = _moment(answer.date) or now
        seconds = 0.0 if until is None else (until - start).total_seconds()
    return min(max(seconds, 0.0), LONGEST_WAIT_SECONDS)


def explained(status: int, clocks_apart_seconds: float) -> str:
    """What a person may look at."""
    if abs(clocks_apart_seconds) > CLOCKS_APART_SECONDS:
        return f"; its clock and ours are {abs(clocks_apart_seconds):.0f} s apart"
    if 300 <= status < 400:
        return "; redirects are not followed: webhook.url must be where it takes events"
    if status in {401, 403}:
        return "; it does not accept our signature (webhook.key_file)"
    return "; is webhook.url right?" if status in {404, 405, 410} else ""


def _moment(text: str | None) -> datetime | None:
    """What a server calls a moment may be anything."""
    try:
        moment = parsedate_to_datetime(text or "")
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
