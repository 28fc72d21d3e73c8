"""How `edgefaced identify` speaks: a line per face, JSON per frame, or one JSON document."""

from __future__ import annotations

import math
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

from edgefaced.cli.output import fail, note, plain, print_json, stdout
from edgefaced.cli.seen import NamedFace, SeenFrame
from edgefaced.core.calibration import ThresholdChoice
from edgefaced.core.gates import QualityLimits
from edgefaced.core.quality_words import explain_fault
from edgefaced.errors import EdgefacedError, Refused
from edgefaced.recognition.threshold import explain
from edgefaced.types import Outcome

NOBODY = "nobody is enrolled, everybody is unknown; `edgefaced enroll NAME PICTURES` is the start"


class Speaker(Protocol):
    """What is said while files are looked at, and after."""

    def begin(self, choice: ThresholdChoice, templates: int) -> None: ...

    def frame(self, path: Path, frame: SeenFrame) -> None: ...

    def failed(self, path: Path, error: EdgefacedError) -> None: ...

    def finish(self, known: int, failure: EdgefacedError | None) -> int:
        """The exit code; `failure` is set when no file at all could be read."""
        ...


class InWords:
    """A line per face on stdout, the rest on stderr."""

    def __init__(self, limits: QualityLimits) -> None:
        self._limits = limits

    def begin(self, choice: ThresholdChoice, templates: int) -> None:
        note(explain(choice) if templates else NOBODY)

    def frame(self, path: Path, frame: SeenFrame) -> None:
        for line in face_lines(path, frame, self._limits):
            stdout.print(plain(line))

    def failed(self, path: Path, error: EdgefacedError) -> None:
        fail(error, as_json=False)

    def finish(self, known: int, failure: EdgefacedError | None) -> int:
        return _status(known, failure)


class InLines:
    """A JSON document per picture or frame, as soon as it was looked at."""

    def begin(self, choice: ThresholdChoice, templates: int) -> None:
        note(explain(choice) if templates else NOBODY)

    def frame(self, path: Path, frame: SeenFrame) -> None:
        print_json({"path": str(path), **_frame_body(frame)})
        sys.stdout.flush()

    def failed(self, path: Path, error: EdgefacedError) -> None:
        fail(error, as_json=True, body={"path": str(path)})

    def finish(self, known: int, failure: EdgefacedError | None) -> int:
        return _status(known, failure)


class InOneDocument:
    """One JSON document at the end."""

    def __init__(self) -> None:
        self._frames: dict[Path, list[SeenFrame]] = {}
        self._errors: dict[Path, EdgefacedError] = {}
        self._threshold: dict[str, Any] = {}

    def begin(self, choice: ThresholdChoice, templates: int) -> None:
        self._threshold = _threshold_body(choice)
        if not templates:
            note(NOBODY)

    def frame(self, path: Path, frame: SeenFrame) -> None:
        self._frames.setdefault(path, []).append(frame)

    def failed(self, path: Path, error: EdgefacedError) -> None:
        self._errors[path] = error

    def finish(self, known: int, failure: EdgefacedError | None) -> int:
        files = [self._file_body(path) for path in {**self._frames, **self._errors}]
        body = {"known": known, "threshold": self._threshold, "files": files}
        if failure is not None:
            return fail(failure, as_json=True, body=body)
        print_json(body)
        return _status(known, failure)

    def _file_body(self, path: Path) -> dict[str, Any]:
        error = self._errors.get(path)
        fault = None if error is None else {"code": error.code, "message": error.message}
        frames = [_frame_body(frame) for frame in self._frames.get(path, ())]
        return {"path": str(path), "error": fault, "frames": frames}


def _status(known: int, failure: EdgefacedError | None) -> int:
    if failure is not None:
        return failure.exit_code
    return 0 if known else Refused.exit_code


def face_lines(path: Path, frame: SeenFrame, limits: QualityLimits) -> list[str]:
    """One line per face; for a picture without any, one that says so."""
    where = str(path) if frame.seconds is None else f"{path} {frame.seconds:.2f} s"
    if not frame.faces and frame.seconds is None:
        turn = f" (one appears when turned by {frame.turn_degrees} degrees clockwise)"
        return [f"{where}: no face" + (turn if frame.turn_degrees else "")]
    several = len(frame.faces) > 1
    return [
        f"{where}{f' face {number}' if several else ''}: {_words(face, limits)}"
        for number, face in enumerate(frame.faces, start=1)
    ]


def _words(face: NamedFace, limits: QualityLimits) -> str:
    identified = face.identified
    decision = identified.decision
    said = str(decision.outcome) if face.name is None else f"{decision.outcome} {face.name}"
    if decision.outcome is Outcome.TOO_POOR:
        quality = identified.face.quality
        why = "; ".join(explain_fault(fault, quality, limits) for fault in identified.faults)
        return f"{said}: {decision.reason} ({why})"
    if decision.score is None:
        return f"{said}: {decision.reason}"
    words = f"{said}, score {decision.score:.2f}, threshold {decision.threshold:.2f}"
    margin = _margin(face)
    if margin is not None:
        words += f", margin {margin:.2f}"
    return words if decision.outcome is Outcome.KNOWN else f"{words} ({decision.reason})"


def _threshold_body(choice: ThresholdChoice) -> dict[str, Any]:
    """The threshold in force and what it promises; rates are null where none is known."""
    return {
        "threshold": choice.threshold,
        "basis": str(choice.basis),
        "templates": choice.gallery_size,
        "fpir": choice.fpir,
        "fpir_upper": choice.fpir_upper,
    }


def _frame_body(frame: SeenFrame) -> dict[str, Any]:
    return {
        "seconds": frame.seconds,
        "width": frame.width,
        "height": frame.height,
        "faces": [_face_body(face) for face in frame.faces],
    }


def _face_body(face: NamedFace) -> dict[str, Any]:
    identified = face.identified
    decision, detection = identified.decision, identified.face.detection
    box = detection.box
    return {
        "outcome": str(decision.outcome),
        "reason": decision.reason,
        "person_id": decision.person_id,
        "name": face.name,
        "score": decision.score,
        "threshold": decision.threshold,
        "margin": _margin(face),
        "liveness": str(decision.liveness),
        "box": [box.left, box.top, box.right, box.bottom],
        "landmarks": detection.landmarks.tolist(),
        "detector_score": detection.score,
        "quality": asdict(identified.face.quality),
    }


def _margin(face: NamedFace) -> float | None:
    match = face.identified.match
    return None if match is None or math.isinf(match.margin) else match.margin
