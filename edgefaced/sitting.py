"""A sitting: somebody in front of the camera is led to a few good pictures and enrolled.

The pictures are the aligned faces that the pipeline makes anyway. They stay in memory until the
sitting is over; what is stored is what enrolment from files would store.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from edgefaced.config.places import Places
from edgefaced.config.settings import Settings
from edgefaced.core.coaching import Advice, Coach, Coaching, Glimpse, Pose
from edgefaced.core.gates import QualityLimits
from edgefaced.enrolment.enrol import Enrolment, EnrolmentPolicy
from edgefaced.enrolment.examine import Sample
from edgefaced.enrolment.report import EnrolmentReport
from edgefaced.errors import Refused
from edgefaced.gallery.store import Gallery
from edgefaced.models.catalogue import find_pack
from edgefaced.models.store import ModelStore
from edgefaced.pipeline.faces import FaceBatch, SeenFace
from edgefaced.pipeline.handoff import LatestSlot
from edgefaced.pipeline.tap import FaceTap
from edgefaced.protocols import Embedder
from edgefaced.recognition.choose import means_of
from edgefaced.recognition.embedder import NetworkEmbedder
from edgefaced.recognition.network import opened_network
from edgefaced.recognition.recogniser import FaceObservation
from edgefaced.recognition.threshold import threshold_for
from edgefaced.types import FACE_SIDE_PX, Role

TAKE_SECONDS = 0.5
READING_SECONDS = 0.7
"""For how long advice stands at least, so that a person can follow it."""

WORDS = {
    Advice.STEP_IN: "step in front of the camera",
    Advice.ONE_PERSON: "only one person please",
    Advice.CLOSER: "come closer",
    Advice.INTO_VIEW: "move to the middle, the face is cut off",
    Advice.MORE_LIGHT: "too dark: more light on the face",
    Advice.LESS_LIGHT: "too bright: less light on the face",
    Advice.EVEN_LIGHT: "half of the face is covered or in the shade",
    Advice.LOOK_HERE: "look straight into the camera",
    Advice.HOLD_STILL: "hold still",
    Advice.TURN_LEFT: "turn your head a little to your left",
    Advice.TURN_RIGHT: "turn your head a little to your right",
    Advice.CHIN_UP: "lift your chin a little",
    Advice.CHIN_DOWN: "lower your chin a little",
    Advice.DONE: "thank you, that is all",
}


@dataclass(frozen=True, slots=True)
class Guidance:
    """What the person should do now, and which pictures are there and still missing.

    `words` may say more than the advice: that the camera is down, for example.
    """

    advice: Advice
    words: str
    taken: tuple[Pose, ...]
    missing: tuple[Pose, ...]


@dataclass(frozen=True, slots=True)
class Sitting:
    """What a sitting needs. The functions open things in the thread that holds it."""

    tap: FaceTap
    hindrance: Callable[[], str]
    """Why no face can be seen at the moment, whatever the person does; empty where there is no
    reason.
    """
    limits: QualityLimits
    model_id: str
    open_gallery: Callable[[], Gallery]
    open_embedder: Callable[[], AbstractContextManager[Embedder]]
    policy: EnrolmentPolicy

    def hold(
        self, name: str, *, seconds: float, consent: str | None = None
    ) -> Generator[Guidance | EnrolmentReport | None, None, None]:
        """Guidance whenever it changes, None meanwhile, and last the report.

        Left early it enrols nobody. Raises what Enrolment raises, before anybody is asked to
        stand still, and Refused where no good picture came in time.
        """
        with (
            self.open_gallery() as gallery,
            Enrolment(
                name, gallery=gallery, model_id=self.model_id, policy=self.policy
            ) as enrolment,
        ):
            taken: list[tuple[Pose, SeenFace]] = []
            with self.tap.watching() as batches:
                yield from self._coach(batches, taken, time.monotonic() + seconds)
            with self.open_embedder() as embedder:
                samples = [_sample(pose, face, embedder) for pose, face in taken]
            yield enrolment.complete(samples, consent)

    def _coach(
        self,
        batches: LatestSlot[FaceBatch],
        taken: list[tuple[Pose, SeenFace]],
        deadline: float,
    ) -> Iterator[Guidance | None]:
        """Fills `taken` until every pose is there or the time is over."""
        coach = Coach(self.limits)
        given: Counter[str] = Counter()
        shown, shown_at = None, float("-inf")
        coaching = Coaching(Advice.STEP_IN)
        while coach.missing and (now := time.monotonic()) < deadline:
            batch = batches.take(TAKE_SECONDS)
            faces = () if batch is None else batch.faces
            # A slow or hot board looks less often; a batch without faces tells who has left.
            if batch is not None:
                coaching = coach.see([_glimpse(face) for face in faces])
                if coaching.take is not None and coaching.pose is not None:
                    taken.append((coaching.pose, faces[coaching.take]))
            words = (not faces and self.hindrance()) or WORDS[coaching.advice]
            given[words] += 1
            guidance = Guidance(
                coaching.advice, words, tuple(p for p, _ in taken), tuple(coach.missing)
            )
            patient = now - shown_at < READING_SECONDS and coaching.take is None
            if guidance == shown or patient:
                yield None
                continue
            shown, shown_at = guidance, now
            yield guidance
        if not taken:
            most = given.most_common(1)[0][0] if given else "there was no time"
            raise Refused("nobody was enrolled: no good picture in time", f"mostly: {most}")


def sitting_of(
    settings: Settings,
    places: Places,
    tap: FaceTap,
    hindrance: Callable[[], str],
    *,
    extend: bool = False,
    allow_duplicate: bool = False,
) -> Sitting:
    """A sitting by the settings. Raises ModelMissing for a pack that is not known."""
    store = ModelStore(places.models_dir)
    manifest = find_pack(settings.models.pack, (store.layout.packs,))
    spec = manifest.of_role(Role.EMBEDDER)
    limits = settings.quality.limits()

    @contextmanager
    def open_embedder() -> Iterator[Embedder]:
        # A handful of faces: one thread, so that the running pipeline keeps its cores.
        means = means_of(settings.inference)
        with opened_network(store, spec, FACE_SIDE_PX, 1, means) as network:
            yield NetworkEmbedder(network, spec)

    return Sitting(
        tap=tap,
        hindrance=hindrance,
        limits=limits,
        model_id="" if spec.embedding is None else spec.embedding.id,
        open_gallery=lambda: Gallery.open(places.gallery_file, places.key_file, create=True),
        open_embedder=open_embedder,
        policy=EnrolmentPolicy(
            limits=limits,
            threshold=lambda size: threshold_for(settings.recognition, spec, size).threshold,
            minimum_margin=settings.recognition.minimum_margin,
            extend=extend,
            allow_duplicate=allow_duplicate,
            keep_pictures=settings.gallery.keep_pictures,
        ),
    )


def _glimpse(face: SeenFace) -> Glimpse:
    return Glimpse(face.track.id, face.quality, face.detection.box.centre)


def _sample(pose: Pose, face: SeenFace, embedder: Embedder) -> Sample:
    observation = FaceObservation(face.detection, face.aligned, face.quality)
    return Sample(Path(pose.value), observation, embedder.embed(face.aligned), "")
