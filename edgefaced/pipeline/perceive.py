"""The detecting stage: a lease in, faces out. The lease ends here, whatever happens."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace

from edgefaced.core.presence import PresenceGate, luma_thumb
from edgefaced.core.quality import measure_quality
from edgefaced.core.sampling import cut_face
from edgefaced.core.tracking import Track, TrackingResult
from edgefaced.pipeline.attention import Attention
from edgefaced.pipeline.crew import Heartbeat
from edgefaced.pipeline.faces import FaceBatch, SeenFace, enlarged
from edgefaced.pipeline.figures import Figures
from edgefaced.pipeline.freshness import Freshness
from edgefaced.pipeline.handoff import Closed, LatestSlot
from edgefaced.pipeline.pace import PaceBoard
from edgefaced.pipeline.tray import Tray
from edgefaced.pipeline.watch import Watcher
from edgefaced.protocols import FrameLease
from edgefaced.types import FACE_SIDE_PX, AlignedFace, ColourOrder, Frame

TAKE_SECONDS = 0.5
"""How long the stage waits for a frame before it shows that it is alive."""

SILENT_ROUNDS = 6
"""Waits without a frame after which whoever was in view has left (3 s)."""

RESTLESS_INTERVAL = 3
"""Frames from one whole look to the next while something moves beside the people in view: whoever
comes to them is found two frames late at most."""

BYTES_PER_FACE = FACE_SIDE_PX * FACE_SIDE_PX * 3


class Perceiver:
    """Body of the stage."""

    def __init__(
        self,
        leases: LatestSlot[FrameLease],
        batches: LatestSlot[FaceBatch],
        open_watcher: Callable[[], AbstractContextManager[Watcher]],
        *,
        order: ColourOrder,
        attention: Attention,
        gate: PresenceGate,
        moved: Callable[[float], bool],
        pace: PaceBoard,
        freshness: Freshness,
        figures: Figures,
        stop: threading.Event,
        tray: Tray,
        patient: bool = False,
    ) -> None:
        """`patient` waits until every batch is taken, and takes none back."""
        self._leases = leases
        self._batches = batches
        self._open_watcher = open_watcher
        self._order = order
        self._attention = attention
        self._gate = gate
        self._moved = moved
        self._pace = pace
        self._freshness = freshness
        self._figures = figures
        self._stop = stop
        self._patient = patient
        self._tray = tray
        self._cut = threading.Event()
        self._sizes: tuple[int, ...] = ()
        self._other_bytes = 0

    def cut(self) -> None:
        """From any thread: what comes next does not continue what came before."""
        self._cut.set()

    def run(self, heartbeat: Heartbeat) -> None:
        """Until `stop` or the end of the leases; the networks belong to the calling thread."""
        silent = 0
        with self._open_watcher() as watcher:
            while not self._stop.is_set():
                heartbeat.beat()
                try:
                    lease = self._leases.take(TAKE_SECONDS)
                except Closed:
                    return
                silent = 0 if lease is not None else silent + 1
                if lease is not None:
                    with lease:
                        batch = self._see(watcher, lease)
                    self._hand_over(batch)
                elif self._cut.is_set() or silent == SILENT_ROUNDS:
                    # No camera, or a board that rests: nobody is in view, as far as anybody knows.
                    self._hand_over(FaceBatch(0, 0, (), self._begin_anew(watcher)))

    def finish(self) -> None:
        """Closes both ends: releases a lease nobody will take, wakes the recognising stage."""
        waiting = self._leases.close()
        if waiting is not None:
            waiting.release()
        # A replay that waits for every stage waits for its last faces, too.
        self._batches.close(keep=self._patient)

    def _see(self, watcher: Watcher, lease: FrameLease) -> FaceBatch:
        """Who is worth judging in a frame, and who has left since the one before."""
        glance = lease.glance
        self._freshness.taken(glance.captured_ns)
        left = self._begin_anew(watcher) if self._cut.is_set() else ()
        calm = self._calm(watcher, glance.captured_ns / 1e9)
        interval = self._interval(watcher, glance, calm)
        if interval is None:
            self._other_bytes += lease.copied_bytes
            return FaceBatch(glance.sequence, glance.captured_ns, (), left)
        small, full = lease.small, lease.frame
        sizes = (small.width, small.height, full.width, full.height)
        if sizes != self._sizes:
            # Places in the old picture mean nothing in the new one.
            left, self._sizes = left + self._begin_anew(watcher), sizes
        self._other_bytes += lease.copied_bytes
        started, now = time.perf_counter_ns(), small.captured_ns / 1e9
        result = self._look(watcher, small, interval, calm)
        found = time.perf_counter_ns()
        faces = tuple(
            self._face(track, lease)
            for track in result.seen
            if self._attention.wants(track.id, now)
        )
        aligned = time.perf_counter_ns()
        self._attention.note(result.tracks, faces)
        if self._tray.wish is not None:
            faces = self._pictured(faces, full)
        self._freshness.looked(aligned - started)
        if faces:
            self._figures.stages["align"].record((aligned - found) / 1e9)
            self._figures.faces += len(faces)
            self._other_bytes += BYTES_PER_FACE * len(faces)
        # Both at once: whoever asks in the middle of a look divides the one by the other.
        self._figures.frames["looked_at"] += 1
        self._figures.bytes_copied = watcher.bytes_copied + self._other_bytes
        return FaceBatch(small.sequence, small.captured_ns, faces, left + result.left)

    def _interval(self, watcher: Watcher, glance: Frame, calm: frozenset[int]) -> int | None:
        """The key-frame interval in force, or None for a frame that needs no look."""
        figures, now = self._figures, glance.captured_ns / 1e9
        if self._moved(now):
            self._gate.wake(now)
        worth = self._gate.look(luma_thumb(glance), now)
        known = watcher.tracks
        if not (worth or known):
            figures.frames["idle"] += 1
            return None
        interval = self._pace.current.band.key_frame_interval
        width, height = self._sizes[:2] or (1, 1)
        if known and self._gate.restless_beside([t.box for t in known], width, height):
            interval = min(interval, RESTLESS_INTERVAL)
        pressing = {t.id for t in known} - calm
        if pressing & watcher.hidden:
            interval = 1
        if not pressing and watcher.pass_over(key_frame_interval=interval, now=now):
            figures.frames["calm"] += 1
            return None
        return interval

    def _look(
        self, watcher: Watcher, small: Frame, interval: int, calm: frozenset[int]
    ) -> TrackingResult:
        """The faces of a frame."""
        figures, now = self._figures, small.captured_ns / 1e9
        started = time.perf_counter()
        result = watcher.watch(small, key_frame_interval=interval, now=now, calm=calm)
        figures.stages["detect"].record(time.perf_counter() - started)
        if result.tracks:
            self._gate.wake(now)
        figures.tracks = len(result.tracks)
        figures.looks["whole"], figures.looks["close"] = watcher.whole_looks, watcher.close_looks
        return result

    def _calm(self, watcher: Watcher, now: float) -> frozenset[int]:
        """Who need not be seen in every frame."""
        small_width, _, full_width, _ = self._sizes or (1, 1, 1, 1)
        scale = full_width / small_width
        return frozenset(
            track.id for track in watcher.tracks if self._attention.is_calm(track, now, scale)
        )

    def _begin_anew(self, watcher: Watcher) -> tuple[Track, ...]:
        """Forgets everybody in view; who that was."""
        self._cut.clear()
        self._figures.tracks = 0
        return watcher.begin_anew()

    def _face(self, track: Track, lease: FrameLease) -> SeenFace:
        full = lease.frame
        detection = enlarged(track.detection, lease.small, full)
        pixels = cut_face(full, detection.landmarks, self._order)
        quality = measure_quality(
            pixels,
            self._order,
            detection.landmarks,
            frame_width=full.width,
            frame_height=full.height,
        )
        faults = self._attention.faults(track.id, quality)
        return SeenFace(track, detection, AlignedFace(pixels, self._order), quality, faults)

    def _pictured(self, faces: tuple[SeenFace, ...], full: Frame) -> tuple[SeenFace, ...]:
        """The same faces with a picture each: which of them brings a decision nobody knows yet."""
        boxes = tuple(face.detection.box for face in faces)
        pictures, written = self._tray.take(full, boxes)
        self._other_bytes += written
        pairs = zip(faces, pictures, strict=True)
        return tuple(replace(face, picture=picture) for face, picture in pairs)

    def _hand_over(self, batch: FaceBatch) -> None:
        """Replaces what still waits, also by nothing: nobody is judged by a frame of before."""
        waiting = None if self._patient else self._batches.withdraw()
        if waiting is not None:
            # A batch that was never read still has news of who has left.
            batch = replace(batch, left=waiting.left + batch.left)
            self._figures.batches_displaced += bool(waiting.faces)
        if batch.faces or batch.left:
            self._batches.put(batch)
