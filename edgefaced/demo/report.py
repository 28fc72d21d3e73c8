"""The end of a run: tables for people, a document for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from edgefaced.demo.bookkeeping import Tally
from edgefaced.demo.player import Scored
from edgefaced.demo.results import SceneResult
from edgefaced.demo.timing import StageTime

ALARM = "bold white on red"


def scene_table(results: Sequence[SceneResult]) -> Table:
    """A row for every scene and one for all of them: each face counts once a frame."""
    table = Table(title="faces, counted once a frame", title_justify="left")
    table.add_column("scene")
    for heading in ("frames", "faces", "recognised", "rejected", "too poor", "missed"):
        table.add_column(heading, justify="right")
    table.add_column("false accepts", justify="right")
    table.add_column("so")
    for result in results:
        tally = result.tally
        table.add_row(result.scene.name, str(result.frames), *_cells(tally), _conclusion(result))
    table.add_section()
    whole = [result.tally for result in results]
    passed = all(result.passed for result in results)
    table.add_row(
        "all",
        str(sum(result.frames for result in results)),
        *_cells(sum(whole[1:], whole[0])),
        Text("good", "green") if passed else Text("not good", ALARM),
    )
    return table


def time_table(times: Sequence[StageTime]) -> Table:
    """Latency of every stage on this machine."""
    table = Table(title="latency in milliseconds", title_justify="left")
    table.add_column("stage")
    for heading in ("p50", "p95", "n"):
        table.add_column(heading, justify="right")
    for time in times:
        table.add_row(time.stage.value, f"{time.p50_ms:.2f}", f"{time.p95_ms:.2f}", str(time.count))
    return table


def scene_body(result: SceneResult) -> dict[str, Any]:
    """A scene's result for --json."""
    tally = result.tally
    return {
        "scene": result.scene.name,
        "frames": result.frames,
        "faces": tally.faces,
        "recognised": tally.recognised,
        "rejected": tally.rejected,
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


def _cells(tally: Tally) -> tuple[str | Text, ...]:
    counts = (tally.faces, tally.recognised, tally.rejected, tally.too_poor, tally.missed)
    alarm = Text(str(tally.false_accepts), ALARM if tally.false_accepts else "green")
    return (*(str(count) for count in counts), alarm)


def _conclusion(result: SceneResult) -> Text:
    if result.tally.false_accepts:
        return Text("a stranger got a name", ALARM)
    if result.not_recognised:
        return Text(f"never recognised: {', '.join(result.not_recognised)}", ALARM)
    if result.scene.enrolled:
        return Text("both recognised", "green")
    return Text("kept out" if result.tally.faces else "nobody found", "green")
