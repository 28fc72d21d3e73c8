"""The recogniser that a command works with: the pack and sizes in force, opened and closed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from edgefaced.cli.context import CliContext
from edgefaced.cli.output import note
from edgefaced.config.settings import Settings

if TYPE_CHECKING:
    from edgefaced.core.calibration import ThresholdChoice
    from edgefaced.enrolment.finder import FaceFinder
    from edgefaced.inference.serving import Serving
    from edgefaced.models.manifest import ModelSpec
    from edgefaced.recognition.choose import Means
    from edgefaced.recognition.recogniser import Recogniser

THOROUGH_SIZE_PX = 640
"""Where nothing is found at the configured size, this one is tried if the pack has it."""

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, eq=False)
class Engine:
    """An open recogniser, the thorough way to use it, and the thresholds of its embedder."""

    settings: Settings
    embedder: ModelSpec
    recogniser: Recogniser
    finder: FaceFinder

    def threshold(self, templates: int) -> ThresholdChoice:
        """The threshold for a gallery of so many templates. Raises ConfigError without any."""
        from edgefaced.recognition.threshold import threshold_for

        return threshold_for(self.settings.recognition, self.embedder, templates)


def engine_options(command: Command) -> Command:
    """Adds `--pack` and `--detector-size`, as `pack` and `detector_size`."""
    command = click.option(
        "--detector-size",
        type=click.IntRange(32, 2048),
        metavar="PX",
        help="Side of the detector's input instead of the configured one.",
    )(command)
    return click.option("--pack", help="Model pack instead of the configured one.")(command)


def say_fallback(serving: Serving) -> None:
    """On stderr, where a network does not run on what it should."""
    from edgefaced.inference.serving import fallen

    if serving.fallback:
        note(fallen(serving))


@contextmanager
def open_engine(
    context: CliContext, *, pack: str | None = None, detector_size: int | None = None
) -> Iterator[Engine]:
    """Raises ModelMissing for a pack that is not here, and what opening a model raises."""
    from edgefaced.enrolment.finder import FaceFinder
    from edgefaced.inference.threads import default_threads
    from edgefaced.models.catalogue import find_pack
    from edgefaced.models.state import outdated
    from edgefaced.models.store import ModelStore
    from edgefaced.recognition.choose import means_of, on_cpu
    from edgefaced.recognition.recogniser import open_recogniser
    from edgefaced.types import Role

    settings = context.settings()
    store = ModelStore(context.places.models_dir)
    manifest = find_pack(pack or settings.models.pack, (store.layout.packs,))
    if line := outdated(manifest, store):
        note(line)
    size = detector_size or settings.detection.input_size_px

    means = means_of(settings.inference, say_fallback)

    def opened(size: int, means: Means) -> Recogniser:
        return open_recogniser(
            store,
            manifest,
            detector_size=size,
            threads=settings.inference.threads or default_threads(),
            score_threshold=settings.detection.score_threshold,
            means=means,
        )

    sizes = manifest.of_role(Role.DETECTOR).input.sizes or ()
    larger = size < THOROUGH_SIZE_PX and THOROUGH_SIZE_PX in sizes
    with (
        opened(size, means) as recogniser,
        # What was compiled for an NPU has one size; looking twice is worth the CPU's time.
        FaceFinder(
            recogniser, (lambda: opened(THOROUGH_SIZE_PX, on_cpu(means))) if larger else None
        ) as finder,
    ):
        yield Engine(settings, manifest.of_role(Role.EMBEDDER), recogniser, finder)
