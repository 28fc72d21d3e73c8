"""What is said over the control socket: one JSON document a line, in both directions.

A request names its version and a command; an answer has `contract_version` and `ok`, and either
the command's keys or `error` with code, message, hint and retryable. A command that streams says
`"stream": true` in its first line; what follows are documents with a `type`, and the end of the
stream is the end of the connection.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from edgefaced.errors import EdgefacedError, UsageError

CONTRACT_VERSION = 1

Document = dict[str, Any]


class _Request(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    contract_version: Literal[1]


class StatusRequest(_Request):
    """How the daemon is."""

    command: Literal["status"]


class EventsRequest(_Request):
    """Events from now on, until the client goes."""

    command: Literal["events"]


class ReloadRequest(_Request):
    """Read the configuration again, as on SIGHUP."""

    command: Literal["reload"]


class SnapshotRequest(_Request):
    """One picture of the camera: its size, then its bytes in pieces."""

    command: Literal["snapshot"]
    format: Literal["jpeg", "png"] = "jpeg"


class EnrolRequest(_Request):
    """Enrol who stands before the camera: a stream of guidance, and last a report."""

    command: Literal["enrol"]
    name: str
    seconds: Annotated[float, Field(ge=1, le=300)] = 20.0
    consent: str | None = None
    add: bool = False
    allow_duplicate: bool = False


class DoorsRequest(_Request):
    """How every door is."""

    command: Literal["doors"]


class DoorOrderRequest(_Request):
    """What an operator does to doors; no door stands for all of them, where that unlocks none."""

    command: Literal["door-order"]
    order: Literal["lockdown", "normal", "hold-open", "open", "trust-camera"]
    doors: tuple[str, ...] = ()
    seconds: Annotated[float, Field(gt=0, le=43_200)] = 600.0
    """For how long a door is held open."""


Request = (
    StatusRequest
    | EventsRequest
    | ReloadRequest
    | SnapshotRequest
    | EnrolRequest
    | DoorsRequest
    | DoorOrderRequest
)

_REQUESTS: TypeAdapter[Request] = TypeAdapter(Annotated[Request, Field(discriminator="command")])


def parse(line: bytes) -> Request:
    """A request. Raises UsageError for anything else, naming what is wrong."""
    try:
        return _REQUESTS.validate_json(line)
    except ValidationError as error:
        fault = error.errors(include_input=False, include_url=False)[0]
        key = ".".join(str(part) for part in fault["loc"])
        raise UsageError(
            f"not a request: {key + ': ' if key else ''}{fault['msg']}",
            f'for example {{"contract_version": {CONTRACT_VERSION}, "command": "status"}}',
        ) from error


def answer(body: Document) -> Document:
    """The answer of a command that did what it was asked."""
    return {"contract_version": CONTRACT_VERSION, "ok": True, **body}


def refusal(error: EdgefacedError, body: Document | None = None) -> Document:
    """The answer where it did not; `body` has what else there is to say."""
    fault = {
        "code": error.code,
        "message": error.message,
        "hint": error.hint,
        "retryable": error.retryable,
    }
    return {"contract_version": CONTRACT_VERSION, "ok": False, "error": fault, **(body or {})}


def line_of(document: Document) -> bytes:
    """One line of UTF-8; what is no text in it (bytes of a path) is escaped."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False) + "\n"
    return text.encode("utf-8", "backslashreplace")


def error_of(document: Document) -> EdgefacedError:
    """The error that a refusal speaks of, of the class that its code names."""
    fault = document.get("error") or {}
    kind = _classes().get(str(fault.get("code")), EdgefacedError)
    return kind(str(fault.get("message", "no reason given")), str(fault.get("hint", "")))


def _classes() -> dict[str, type[EdgefacedError]]:
    found: dict[str, type[EdgefacedError]] = {}
    kinds = [EdgefacedError]
    while kinds:
        kind = kinds.pop()
        found.setdefault(kind.code, kind)
        kinds += kind.__subclasses__()
    return found
