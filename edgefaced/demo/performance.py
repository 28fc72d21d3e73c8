"""Everything real that the demo runs on, set up in a temporary place and gone afterwards."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edgefaced.config.settings import Settings
from edgefaced.core.calibration import ThresholdChoice
from edgefaced.demo.backdrop import HEIGHT_PX, WIDTH_PX
from edgefaced.demo.pictures import Album
from edgefaced.demo.player import Player, Rules
from edgefaced.demo.script import Role
from edgefaced.enrolment.enrol import EnrolmentPolicy, enrol
from edgefaced.enrolment.finder import FaceFinder
from edgefaced.enrolment.report import EnrolmentReport
from edgefaced.errors import StorageError
from edgefaced.gallery.index import open_index
from edgefaced.gallery.store import Gallery
from edgefaced.models.store import ModelStore
from edgefaced.types import Frame, PixelFormat


@dataclass(frozen=True, slots=True, eq=False)
class Performance:
    """A player over a gallery of two, how they were enrolled, and the threshold in force."""

    player: Player
    enrolments: tuple[EnrolmentReport, ...]
    threshold: ThresholdChoice


@contextmanager
def open_performance(
    album: Album,
    store: ModelStore,
    finder: FaceFinder,
    settings: Settings,
    threshold: Callable[[int], ThresholdChoice],
) -> Iterator[Performance]:
    """Enrols both people from one photograph each into an encrypted gallery that is removed later.

    Raises what enrolling raises, and StorageError without a place for temporary files.
    """
    recogniser = finder.recogniser
    with (
        _temporary_folder() as folder,
        Gallery.open(folder / "gallery.db", folder / "gallery.key", create=True) as gallery,
    ):
        policy = EnrolmentPolicy(
            limits=settings.quality.limits(),
            threshold=lambda templates: threshold(templates).threshold,
            minimum_margin=settings.recognition.minimum_margin,
        )
        people = (
            (Role.PERSON_A, album.person_a_enrolled),
            (Role.PERSON_B, album.person_b_enrolled),
        )
        enrolments: list[EnrolmentReport] = []
        for role, photograph in people:
            path = store.layout.photograph(photograph)
            report = enrol(role.value, [path], gallery=gallery, finder=finder, policy=policy)
            if report.refusal is not None:
                raise report.refusal
            enrolments.append(report)
        with closing(open_index(gallery, recogniser.model_id, settings.gallery.index)) as index:
            choice = threshold(index.size)
            rules = Rules(
                choice.threshold, settings.recognition.minimum_margin, settings.quality.limits()
            )
            # The networks' first run is slower; it belongs to no frame.
            nothing = np.zeros((HEIGHT_PX, WIDTH_PX, 3), dtype=np.uint8)
            recogniser.detect(Frame(0, 0, nothing, PixelFormat.BGR))
            yield Performance(
                Player(recogniser, index, rules, gallery.name_of), tuple(enrolments), choice
            )


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    try:
        folder = tempfile.TemporaryDirectory(prefix="edgefaced-demo-")
    except OSError as error:
        raise StorageError(
            f"no place for temporary files: {error.strerror or error}", "set TMPDIR to a folder"
        ) from error
    with folder as name:
        yield Path(name)
