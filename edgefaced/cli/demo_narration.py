"""The run in words: a line when what is said of a face changes, and now and then in between."""

from __future__ import annotations

from collections import Counter

from rich.text import Text

from edgefaced.demo.bookkeeping import Sighting, Verdict
from edgefaced.demo.player import Scored
from edgefaced.types import Outcome

REPEAT_AFTER = 12
"""Frames after which an unchanged verdict is told again."""
CROWD_EVERY = 4
"""Frames of a crowd of which one is told, in one line."""

STYLES: dict[Verdict, str] = {
    Verdict.RECOGNISED: "green",
    Verdict.NOT_RECOGNISED: "yellow",
    Verdict.REJECTED: "cyan",
    Verdict.TOO_POOR: "bright_black",
    Verdict.MISSED: "magenta",
    Verdict.FALSE_ACCEPT: "bold white on red",
    Verdict.NO_FACE: "bright_black",
}


class Narrator:
    """Remembers what was said last of every face, so that only news is told."""

    def __init__(self, *, everything: bool) -> None:
        self._everything = everything
        self._told: dict[tuple[str, str], tuple[Verdict, int]] = {}

    def lines(self, scored: Scored) -> list[Text]:
        """The lines of one frame; a false accept is always among them."""
        if not self._everything and scored.crowded:
            alarms = [s for s in scored.sightings if s.verdict is Verdict.FALSE_ACCEPT]
            lines = [crowd_line(scored)] if scored.shot.index % CROWD_EVERY == 0 else []
            return lines + [sighting_line(scored, alarm) for alarm in alarms]
        return [sighting_line(scored, s) for s in scored.sightings if self._is_news(scored, s)]

    def _is_news(self, scored: Scored, sighting: Sighting) -> bool:
        face = (scored.shot.scene.name, _label(sighting))
        before, at = self._told.get(face, (None, 0))
        changed = sighting.verdict is not before or sighting.verdict is Verdict.FALSE_ACCEPT
        if self._everything or changed or scored.shot.index - at >= REPEAT_AFTER:
            self._told[face] = (sighting.verdict, scored.shot.index)
            return True
        return False


def sighting_line(scored: Scored, sighting: Sighting) -> Text:
    """Time, face, verdict, score and reason of one face."""
    line = Text(f"{scored.shot.seconds:7.2f} s  {_label(sighting):12}")
    line.append(f"{sighting.verdict.value:15}", STYLES[sighting.verdict])
    claim = sighting.claim
    if claim is None:
        return line
    decision = claim.decision
    if decision.score is not None:
        line.append(f"score {decision.score:5.2f}")
        if decision.outcome is not Outcome.TOO_POOR:
            sign = ">=" if decision.score >= decision.threshold else "< "
            line.append(f" {sign} {decision.threshold:.2f}")
    if sighting.verdict is Verdict.FALSE_ACCEPT:
        line.append(f"  taken for {claim.name}", STYLES[sighting.verdict])
    elif decision.outcome is Outcome.TOO_POOR or decision.reason == "margin":
        line.append(f"  {decision.reason}", "bright_black")
    return line


def crowd_line(scored: Scored) -> Text:
    """Time, verdicts counted, and the best score of anybody in a frame."""
    counts = Counter(s.verdict for s in scored.sightings)
    scores = [s.claim.decision.score for s in scored.sightings if s.claim]
    best = max((score for score in scores if score is not None), default=None)
    line = Text(f"{scored.shot.seconds:7.2f} s  {f'{len(scored.sightings)} faces':12}")
    for verdict in Verdict:
        if counts[verdict]:
            line.append(f"{counts[verdict]} {verdict.value}  ", STYLES[verdict])
    if best is not None:
        line.append(f"best score {best:.2f}")
    return line


def _label(sighting: Sighting) -> str:
    return "no face here" if sighting.truth is None else sighting.truth.label
