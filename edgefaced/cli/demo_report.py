"""The end of a run: tables for people, a document for programs."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from edgefaced.core.calibration import ThresholdChoice
from edgefaced.demo.bookkeeping import Tally
from edgefaced.demo.player import Scored
from edgefaced.demo.results import RunResult, SceneResult
from edgefaced.demo.timing import StageTime
from edgefaced.enrolment.report import EnrolmentReport

ALARM = "bold white on red"


def scene_table(result: RunResult) -> Table:
    """A row for every scene and one for all of them: each face counts once a frame."""
    table = _table("faces, each counted once a frame")
    table.add_column("scene")
    for heading in ("frames", "faces", "recognised", "not\nrecognised", "strangers\nrejected"):
        table.add_column(heading, justify="right")
    for heading in ("too\npoor", "missed", "false\naccepts"):
        table.add_column(heading, justify="right")
    table.add_column()
    for scene in result.scenes:
        cells = _cells(scene.frames, scene.tally, passed=scene.passed)
        table.add_row(scene.scene.name, *cells)
    table.add_section()
    table.add_row("all", *_cells(result.frames, result.total, passed=result.passed))
    return table


def time_table(times: Sequence[StageTime]) -> Table:
    """Latency of every stage on this machine."""
    table = _table("latency in milliseconds, on this machine")
    table.add_column("stage")
    for heading in ("p50", "p95", "n"):
        table.add_column(heading, justify="right")
    for time in times:
        table.add_row(time.stage.value, f"{time.p50_ms:.2f}", f"{time.p95_ms:.2f}", str(time.count))
    return table


def conclusion(result: RunResult) -> str:
    """Whether that is good, and if not, why: one line, beginning with the exit code."""
    if result.passed:
        return "exit 0: no false accept, and both were recognised in every scene meant for them"
    faults = [f"{result.total.false_accepts} false accepts"] if result.total.false_accepts else []
    faults += [
        f"{name} never recognised in {scene.scene.name!r}"
        for scene in result.scenes
        for name in scene.never_recognised
    ]
    return f"exit 1: {', '.join(faults)}"


def next_steps() -> list[str]:
    """What to type now, beginning with what makes the shell find `edgefaced`."""
    steps = ["edgefaced enroll NAME PICTURES...", "edgefaced identify PICTURE"]
    activate, here = Path(sys.prefix) / "bin" / "activate", Path.cwd()
    if shutil.which("edgefaced") or not activate.exists():
        return steps
    near = activate.relative_to(here) if activate.is_relative_to(here) else activate
    return [f". {shlex.quote(str(near))}", *steps]


def scene_body(result: SceneResult) -> dict[str, Any]:
    """A scene's result for --json."""
    tally = result.tally
    return {
        "scene": result.scene.name,
        "frames": result.frames,
        "faces": tally.faces,
        "recognised": tally.recognised,
        "not_recognised": tally.not_recognised,
        "strangers_rejected": tally.rejected,
        "too_poor": tally.too_poor,
        "missed": tally.missed,
        "false_accepts": tally.false_accepts,
        "no_face": tally.no_face,
        "enrolled_people": list(result.scene.enrolled),
        "recognised_people": sorted(result.recognised),
        "passed": result.passed,
    }


def time_body(time: StageTime) -> dict[str, Any]:
    """A stage's latency for --json."""
    return {
        "stage": time.stage.value,
        "p50_ms": round(time.p50_ms, 3),
        "p95_ms": round(time.p95_ms, 3),
        "n": time.count,
    }


def enrolment_body(report: EnrolmentReport) -> dict[str, Any]:
    """How a person was enrolled, for --json."""
    return {"name": report.name, "picture": report.pictures[0].path.name, "kept": report.kept}


def threshold_body(choice: ThresholdChoice) -> dict[str, Any]:
    """The threshold in force for --json."""
    return {
        "score": round(choice.threshold, 4),
        "basis": choice.basis.value,
        "gallery_templates": choice.gallery_size,
        "fpir": choice.fpir,
        "fpir_upper": choice.fpir_upper,
    }


def decision_bodies(scored: Scored) -> list[dict[str, Any]]:
    """Every verdict on a frame for --json."""
    bodies: list[dict[str, Any]] = []
    for sighting in scored.sightings:
        decision = sighting.claim.decision if sighting.claim else None
        score = decision.score if decision else None
        bodies.append(
            {
                "scene": scored.shot.scene.name,
                "seconds": round(scored.shot.seconds, 3),
                "face": sighting.truth.label if sighting.truth else None,
                "verdict": sighting.verdict.value.lower(),
                "outcome": decision.outcome.value if decision else None,
                "name": sighting.claim.name if sighting.claim else None,
                "score": None if score is None else round(score, 4),
                "reason": decision.reason if decision else None,
            }
        )
    return bodies


def _table(title: str) -> Table:
    """Eighty columns hold the widest of these: pipes and small terminals have no more."""
    return Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=0, show_edge=False)


def _cells(frames: int, tally: Tally, *, passed: bool) -> tuple[str | Text, ...]:
    counts = (
        frames,
        tally.faces,
        tally.recognised,
        tally.not_recognised,
        tally.rejected,
        tally.too_poor,
        tally.missed,
    )
    alarm = Text(str(tally.false_accepts), ALARM if tally.false_accepts else "green")
    verdict = Text("ok", "green") if passed else Text("NO", ALARM)
    return (*(str(count) for count in counts), alarm, verdict)
