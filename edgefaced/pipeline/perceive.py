"""The detecting stage: a lease in, faces out. The lease ends here, whatever happens."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

from edgefaced.core.presence import PresenceGate, luma_thumb
from edgefaced.core.quality import measure_quality
from edgefaced.core.sampling import cut_face
from edgefaced.core.tracking import Track
from edgefaced.pipeline.crew import Heartbeat
from edgefaced.pipeline.faces import FaceBatch, SeenFace, enlarged
from edgefaced.pipeline.figures import Figures
from edgefaced.pipeline.handoff import Closed, LatestSlot
from edgefaced.pipeline.pace import PaceBoard
from edgefaced.pipeline.watch import Watcher
from edgefaced.protocols import FrameLease
from edgefaced.types import FACE_SIDE_PX, AlignedFace, ColourOrder

TAKE_SECONDS = 0.5
"""How long the stage waits for a frame before it shows that it is alive."""

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
        wants: Callable[[int, float], bool],
        gate: PresenceGate,
        moved: Callable[[float], bool],
        pace: PaceBoard,
        figures: Figures,
        stop: threading.Event,
    ) -> None:
        self._leases = leases
        self._batches = batches
        self._open_watcher = open_watcher
        self._order = order
        self._wants = wants
        self._gate = gate
        self._moved = moved
        self._pace = pace
        self._figures = figures
        self._stop = stop
        self._left: tuple[Track, ...] = ()
        self._other_bytes = 0

    def run(self, heartbeat: Heartbeat) -> None:
        """Until `stop` or the end of the leases; the networks belong to the calling thread."""
        with self._open_watcher() as watcher:
            while not self._stop.is_set():
                heartbeat.beat()
                try:
                    lease = self._leases.take(TAKE_SECONDS)
                except Closed:
                    return
                if lease is not None:
                    with lease:
                        batch = self._look(watcher, lease)
                    if batch is not None:
                        self._hand_over(batch)

    def finish(self) -> None:
        """Closes both ends: releases a lease nobody will take, wakes the recognising stage."""
        waiting = self._leases.close()
        if waiting is not None:
            waiting.release()
        self._batches.close()

    def _look(self, watcher: Watcher, lease: FrameLease) -> FaceBatch | None:
        small, figures = lease.small, self._figures
        self._other_bytes += lease.copied_bytes
        now = small.captured_ns / 1e9
        if self._moved(now):
            self._gate.wake(now)
        worth = self._gate.look(luma_thumb(small), now)
        known = watcher.tracks
        if not (worth or known):
            figures.frames["idle"] += 1
            return None
        interval = self._pace.current.band.key_frame_interval
        if known and self._gate.restless_beside([t.box for t in known], small.width, small.height):
            interval = min(interval, RESTLESS_INTERVAL)
        wanted = any(self._wants(track.id, now) for track in known)
        if not wanted and watcher.pass_over(key_frame_interval=interval, now=now):
            figures.frames["calm"] += 1
            return None
        figures.frames["looked_at"] += 1
        started = time.perf_counter()
        result = watcher.watch(small, key_frame_interval=interval, now=now)
        found = time.perf_counter()
        figures.stages["detect"].record(found - started)
        if result.tracks:
            self._gate.wake(now)
        figures.tracks = len(result.tracks)
        figures.looks["whole"], figures.looks["close"] = watcher.whole_looks, watcher.close_looks
        faces = tuple(
            self._face(track, lease) for track in result.seen if self._wants(track.id, now)
        )
        if faces:
            figures.stages["align"].record(time.perf_counter() - found)
            self._other_bytes += BYTES_PER_FACE * len(faces)
        figures.bytes_copied = watcher.bytes_copied + self._other_bytes
        self._left += result.left
        if not faces and not self._left:
            return None
        return FaceBatch(small.sequence, small.captured_ns, faces, self._left)

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
        return SeenFace(track, detection, AlignedFace(pixels, self._order), quality)

    def _hand_over(self, batch: FaceBatch) -> None:
        displaced = self._batches.put(batch)
        # A batch that was never read still has news of who has left.
        self._left = () if displaced is None else displaced.left
        if displaced is not None:
            self._figures.batches_displaced += 1
