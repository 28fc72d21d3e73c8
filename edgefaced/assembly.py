"""The composition root of a line: networks, gallery, camera and sensors, by the settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress

from edgefaced.camera.choose import open_camera
from edgefaced.config.places import Places
from edgefaced.config.settings import Settings
from edgefaced.core.policy import DecisionPolicy
from edgefaced.errors import GalleryMissing
from edgefaced.gallery.following import FollowingIndex
from edgefaced.gallery.lock import start as start_gallery
from edgefaced.gallery.store import Gallery
from edgefaced.gpio.choose import open_input
from edgefaced.gpio.lines import InputLine
from edgefaced.inference.feeds import FREE
from edgefaced.inference.rockchip import Npu, find_npu
from edgefaced.inference.serving import Register
from edgefaced.inference.threads import usable_cores
from edgefaced.models.catalogue import find_pack
from edgefaced.models.manifest import PackManifest
from edgefaced.models.store import ModelStore
from edgefaced.pipeline.judge import Knowledge
from edgefaced.pipeline.line import Parts
from edgefaced.pipeline.tap import FaceTap
from edgefaced.pipeline.watch import Watcher, close_looks_worth
from edgefaced.protocols import InferenceBackend, SinkPlans
from edgefaced.recognition.choose import Means, check_network, has_network
from edgefaced.recognition.detector import NetworkDetector
from edgefaced.recognition.embedder import NetworkEmbedder
from edgefaced.recognition.network import opened_network
from edgefaced.recognition.threshold import threshold_for
from edgefaced.types import FACE_SIDE_PX, Role

WIDE = 9 / 16
"""Cameras' pictures; a network of free size computes no padding around them."""


def parts_of(
    settings: Settings,
    places: Places,
    sinks: SinkPlans,
    tap: FaceTap,
    find: Callable[[], Npu | None] = find_npu,
) -> Parts:
    """Everything a line needs, by the settings; nothing is opened yet.

    Raises ModelMissing or ModelDamaged for a pack that is not here whole, ConfigError for settings
    that do not fit, DependencyMissing, and GalleryError for a gallery that cannot be used.
    """
    networks = Register()
    means = Means(settings.inference, find(), networks.report)
    store = ModelStore(places.models_dir)
    manifest = find_pack(settings.models.pack, (store.layout.packs,))
    detector, embedder = manifest.of_role(Role.DETECTOR), manifest.of_role(Role.EMBEDDER)
    # Two networks run at the same time, in two threads: each gets half of the cores.
    threads = settings.inference.threads or max(1, min(4, usable_cores() // 2))
    camera = settings.camera
    model_id = "" if embedder.embedding is None else embedder.embedding.id

    @contextmanager
    def open_watcher() -> Iterator[Watcher]:
        size, score = whole_size(settings), settings.detection.score_threshold
        small = close_size(manifest)

        def looking(network: InferenceBackend, size: int) -> NetworkDetector:
            made = NetworkDetector(
                network,
                detector,
                size=size,
                score_threshold=score,
                placed=lambda memory, remark: networks.placed(detector.id, size, memory, remark),
            )
            made.rehearse()
            return made

        with ExitStack() as opened:
            network = opened.enter_context(opened_network(store, detector, size, threads, means))
            close: NetworkDetector | None = None
            if FREE in network.inputs[0].shape:
                # One network of free size serves both looks; each look has a buffer of its own.
                close = looking(network, small)
            elif small < size and has_network(store, detector, small, means):
                close = looking(
                    opened.enter_context(opened_network(store, detector, small, threads, means)),
                    small,
                )
            # Without a smaller network a close look would cost what a whole one does, and see less.
            shape = 1.0 if FREE not in network.inputs[0].shape else WIDE
            yield Watcher(
                looking(network, size),
                close,
                most_close_looks=close_looks_worth(size**2 * shape, small**2),
            )

    def follow_gallery() -> FollowingIndex:
        return FollowingIndex(
            lambda: Gallery.open(places.gallery_file, places.key_file),
            model_id,
            settings.gallery.index,
        )

    @contextmanager
    def open_knowledge() -> Iterator[Knowledge]:
        with opened_network(store, embedder, FACE_SIDE_PX, threads, means) as network:
            mind = NetworkEmbedder(network, embedder)
            mind.rehearse()
            start_gallery(places.gallery_file, places.key_file)
            with closing(follow_gallery()) as index:
                yield Knowledge(
                    mind,
                    index,
                    lambda size: threshold_for(settings.recognition, embedder, size).threshold,
                )

    # What is missing is said here, before anything starts and before a reload stops what runs.
    for spec, size in ((detector, whole_size(settings)), (embedder, FACE_SIDE_PX)):
        check_network(store, spec, size, means)
    threshold_for(settings.recognition, embedder, 1)
    with suppress(GalleryMissing):
        follow_gallery().close()
    return Parts(
        camera_name=camera.name,
        open_camera=lambda: open_camera(camera),
        open_watcher=open_watcher,
        open_knowledge=open_knowledge,
        sinks=sinks,
        colour_order=embedder.input.colour_order,
        limits=settings.quality.limits(),
        policy=DecisionPolicy(settings.policy.limits(settings.recognition.minimum_margin)),
        open_motion=motion_of(settings),
        replay=camera.kind == "replay",
        lossless=camera.kind == "replay" and camera.replay_pace == "fast",
        tap=tap,
        networks=networks,
    )


def motion_of(settings: Settings) -> Callable[[], InputLine] | None:
    """Takes the line of the motion sensor, where there is one."""
    section = settings.presence
    chip, line = section.motion_chip, section.motion_line
    if chip is None or line is None:
        return None
    return lambda: open_input(
        section.motion_chip_kind, chip, line, active_low=section.motion_active_low
    )


def whole_size(settings: Settings) -> int:
    """Side of the detector's input for whole looks."""
    return settings.detection.input_size_px


def close_size(manifest: PackManifest) -> int:
    """Side of the detector's input for close looks: the smallest that the pack prepares."""
    return min(manifest.of_role(Role.DETECTOR).input.sizes or (whole_size(Settings()),))
