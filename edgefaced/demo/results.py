"""What a run of the demo came to: per scene, and whether that is good."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgefaced.demo.bookkeeping import Sighting, Tally, recognised_people, tally
from edgefaced.demo.script import Scene
from edgefaced.demo.timing import StageTime


@dataclass(frozen=True, slots=True)
class SceneResult:
    """One scene: frames played, sightings counted, and who was recognised at least once."""

    scene: Scene
    frames: int
    tally: Tally
    recognised: frozenset[str]

    @property
    def never_recognised(self) -> tuple[str, ...]:
        """Enrolled people who were in the scene and were never recognised."""
        return tuple(name for name in self.scene.enrolled if name not in self.recognised)

    @property
    def passed(self) -> bool:
        return not self.tally.false_accepts and not self.never_recognised


def scene_result(scene: Scene, frames: Sequence[Sequence[Sighting]]) -> SceneResult:
    """The result of a scene from the sightings of its frames."""
    sightings = [sighting for frame in frames for sighting in frame]
    return SceneResult(scene, len(frames), tally(sightings), recognised_people(sightings))


@dataclass(frozen=True, slots=True)
class RunResult:
    """All scenes, and how long the stages took."""

    scenes: tuple[SceneResult, ...]
    times: tuple[StageTime, ...]

    @property
    def passed(self) -> bool:
        """No false accept, and everybody recognised in every scene meant for it."""
        return all(scene.passed for scene in self.scenes)

    @property
    def frames(self) -> int:
        return sum(scene.frames for scene in self.scenes)

    @property
    def total(self) -> Tally:
        tallies = [scene.tally for scene in self.scenes]
        return sum(tallies[1:], tallies[0])
