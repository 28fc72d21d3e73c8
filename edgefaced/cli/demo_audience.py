"""Who the demo speaks to: a person, line by line, or a program, in one document at the end."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, Protocol

from edgefaced.cli.demo_narration import Narrator
from edgefaced.cli.demo_report import (
    conclusion,
    decision_bodies,
    enrolment_body,
    next_steps,
    scene_body,
    scene_table,
    threshold_body,
    time_body,
    time_table,
)
from edgefaced.cli.output import note, plain, print_json, stdout
from edgefaced.core.calibration import ThresholdChoice
from edgefaced.demo.player import Scored
from edgefaced.demo.recording import Kept
from edgefaced.demo.results import RunResult
from edgefaced.demo.script import Scene
from edgefaced.enrolment.report import EnrolmentReport
from edgefaced.recognition.threshold import explain


class Audience(Protocol):
    """Told of a run as it happens."""

    def say(self, line: str) -> None:
        """What is being done now."""
        ...

    def credits(self, lines: Sequence[str]) -> None: ...

    def enrolled(self, reports: Sequence[EnrolmentReport], choice: ThresholdChoice) -> None: ...

    def scene(self, scene: Scene) -> None: ...

    def shot(self, scored: Scored) -> None: ...

    def end(self, result: RunResult, kept: Kept) -> None: ...


class Person:
    """Reads lines and tables on stdout."""

    def __init__(self, *, everything: bool) -> None:
        self._narrator = Narrator(everything=everything)

    def say(self, line: str) -> None:
        stdout.print(plain(line))

    def credits(self, lines: Sequence[str]) -> None:
        self.say("  photographs:")
        for line in lines:
            self._tell(line, indent="    ")

    def enrolled(self, reports: Sequence[EnrolmentReport], choice: ThresholdChoice) -> None:
        for report in reports:
            self.say(f"  {report.name}: enrolled from {report.pictures[0].path.name}")
        self._tell(explain(choice), indent="  ")

    def scene(self, scene: Scene) -> None:
        self.say(f"  {scene.name}: {scene.story}")

    def shot(self, scored: Scored) -> None:
        for line in self._narrator.lines(scored):
            stdout.print(line)

    def end(self, result: RunResult, kept: Kept) -> None:
        stdout.print()
        stdout.print(scene_table(result))
        stdout.print()
        stdout.print(time_table(result.times))
        stdout.print()
        stdout.print(plain(conclusion(result)), style="bold green" if result.passed else "bold red")
        self.say(f"contact sheet  {kept.contact_sheet}")
        self.say(f"video          {kept.video}")
        self.say(f"credits        {kept.credits}")
        self.say("The demo's gallery was temporary and is gone; yours was not touched.")
        self.say("Next:")
        for step in next_steps():
            self.say(f"  {step}")

    def _tell(self, line: str, *, indent: str) -> None:
        """A long line: folded between words where a terminal would cut it anywhere."""
        width = stdout.width if stdout.is_terminal else len(indent + line)
        for part in textwrap.wrap(
            line, width, initial_indent=indent, subsequent_indent=f"{indent}  "
        ):
            self.say(part)


class Program:
    """Reads one document on stdout; what is being done is on stderr."""

    def __init__(self, *, pack: str, seed: int, stride: int) -> None:
        self._about = {"pack": pack, "seed": seed, "stride": stride}
        self._body: dict[str, Any] = {}
        self._decisions: list[dict[str, Any]] = []

    def say(self, line: str) -> None:
        note(line)

    def credits(self, lines: Sequence[str]) -> None:
        self._body["credits"] = list(lines)

    def enrolled(self, reports: Sequence[EnrolmentReport], choice: ThresholdChoice) -> None:
        self._body["enrolled"] = [enrolment_body(report) for report in reports]
        self._body["threshold"] = threshold_body(choice)

    def scene(self, scene: Scene) -> None:
        note(f"  {scene.name}: {scene.story}")

    def shot(self, scored: Scored) -> None:
        self._decisions += decision_bodies(scored)

    def end(self, result: RunResult, kept: Kept) -> None:
        body = {
            **self._about,
            **self._body,
            "frames": result.frames,
            "passed": result.passed,
            "false_accepts": result.total.false_accepts,
            "scenes": [scene_body(scene) for scene in result.scenes],
            "latency": [time_body(time) for time in result.times],
            "decisions": self._decisions,
            "files": {
                "contact_sheet": str(kept.contact_sheet),
                "video": str(kept.video),
                "credits": str(kept.credits),
            },
        }
        print_json(body, ok=result.passed)
