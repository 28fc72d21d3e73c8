"""The demo's frames through the real recogniser: one decision for every face that it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from edgefaced.core.decision import decide
from edgefaced.core.gates import QualityLimits, quality_faults
from edgefaced.demo.bookkeeping import Claim, Sighting, judge
from edgefaced.demo.results import RunResult, SceneResult, scene_result
from edgefaced.demo.script import Scene
from edgefaced.demo.studio import Shot
from edgefaced.demo.timing import Stage, Stopwatch
from edgefaced.protocols import GalleryIndex
from edgefaced.recognition.recogniser import Recogniser
from edgefaced.types import Frame, Liveness, PixelFormat

CROWD = 5


@dataclass(frozen=True, slots=True)
class Rules:
    """When a face is a person: the score, the lead over the second, the gates of quality."""

    threshold: float
    minimum_margin: float
    limits: QualityLimits


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """One shot, and what became of every face in it."""

    shot: Shot
    sightings: tuple[Sighting, ...]

    @property
    def crowded(self) -> bool:
        """So many faces that each can have few words only."""
        return len(self.sightings) >= CROWD


class Player:
    """Recognises frames; used by the thread that opened the recogniser and the index."""

    def __init__(
        self,
        recogniser: Recogniser,
        index: GalleryIndex,
        rules: Rules,
        name_of: Callable[[str], str],
    ) -> None:
        self._recogniser = recogniser
        self._index = index
        self._rules = rules
        self._name_of = name_of
        self.stopwatch = Stopwatch()

    def run(
        self,
        shots: Iterable[Shot],
        on_scene: Callable[[Scene], None],
        on_shot: Callable[[Scored], None],
    ) -> RunResult:
        """Plays every shot, telling of each scene before it begins and of each shot after it."""
        results: list[SceneResult] = []
        for _, scored in groupby(self._score(shots), key=lambda scored: scored.shot.scene.name):
            frames: list[tuple[Sighting, ...]] = []
            for one in scored:
                if not frames:
                    on_scene(one.shot.scene)
                on_shot(one)
                frames.append(one.sightings)
                scene = one.shot.scene
            results.append(scene_result(scene, frames))
        return RunResult(tuple(results), self.stopwatch.times())

    def _score(self, shots: Iterable[Shot]) -> Iterator[Scored]:
        for number, shot in enumerate(shots):
            frame = Frame(number, round(shot.seconds * 1e9), shot.pixels, PixelFormat.BGR)
            claims = self.recognise(frame)
            sightings = judge(shot.truths, claims, width=frame.width, height=frame.height)
            yield Scored(shot, sightings)

    def recognise(self, frame: Frame) -> list[Claim]:
        """What is said of each face of a frame; the stages' times go to the stopwatch."""
        measuring, recogniser, rules = self.stopwatch.measuring, self._recogniser, self._rules
        claims: list[Claim] = []
        with measuring(Stage.FRAME):
            with measuring(Stage.DETECT):
                detections = recogniser.detect(frame)
            for detection in detections:
                with measuring(Stage.ALIGN):
                    aligned = recogniser.align(frame, detection)
                    faults = quality_faults(
                        recogniser.quality(frame, detection, aligned), rules.limits
                    )
                with measuring(Stage.EMBED):
                    embedding = recogniser.embed(aligned)
                with measuring(Stage.MATCH):
                    match = self._index.search(embedding)
                with measuring(Stage.DECIDE):
                    decision = decide(
                        match,
                        threshold=rules.threshold,
                        minimum_margin=rules.minimum_margin,
                        quality_faults=faults,
                        liveness=Liveness.NOT_CHECKED,
                    )
                known = decision.person_id
                name = None if known is None else self._name_of(known)
                claims.append(Claim(detection.box, name, decision))
        return claims
