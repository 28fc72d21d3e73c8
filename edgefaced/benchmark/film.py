"""What a line is measured on: people standing in front of a camera, or files, as a camera."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import cv2
import numpy as np

from edgefaced.benchmark.scene import BACKGROUND, HEIGHT, WIDTH
from edgefaced.camera.layout import Planes
from edgefaced.camera.reel import NANOSECONDS, Playing, Shot
from edgefaced.camera.replay import ReplayCamera, open_replay
from edgefaced.core.letterbox import fit
from edgefaced.core.scaling import resize_into
from edgefaced.errors import UsageError
from edgefaced.pictures.find import find_pictures
from edgefaced.protocols import Camera, CameraDescription, CameraWish
from edgefaced.types import U8, PixelFormat

RATE = 30
SWAY_FRAMES = 60
"""A body sways once in two seconds; the film then repeats itself without a jump."""
EMPTY_FRAMES = 15
"""Of nobody there are fewer: they differ by noise alone."""
SWAY_PX = (14.0, 6.0)
NOISE_LUMA = 2.0
"""Standard deviation of a sensor's noise in a room that is lit."""
BUFFERS = 4
FILE_BYTES = 1 << 30
"""Files up to this size are decoded before anything is measured: a camera's frames are, too."""

Pace = Literal["real", "fast"]


@dataclass(frozen=True, slots=True)
class Film:
    """A name, and the film as a camera; it can be opened again and again."""

    name: str
    open: Callable[[Pace, bool], Camera]
    """Takes the pace, and whether the film is looped."""


def standing(pictures: Sequence[U8], count: int = SWAY_FRAMES) -> list[U8]:
    """People side by side on grey, each a BGR picture, swaying: frames of 1280x720.

    SWAY_FRAMES of them are a whole sway. No picture is an empty scene.
    """
    noise = np.random.default_rng(7)
    still = np.full((HEIGHT, WIDTH, 3), BACKGROUND, np.uint8)
    columns = len(pictures)
    for column, picture in enumerate(pictures):
        width = WIDTH // columns
        box = fit(picture.shape[1], picture.shape[0], width, HEIGHT)
        top = (HEIGHT - box.fitted_height) // 2
        left = column * width + (width - box.fitted_width) // 2
        target = still[top : top + box.fitted_height, left : left + box.fitted_width]
        resize_into(target, picture)
    frames: list[U8] = []
    for number in range(count):
        phase = 2 * np.pi * number / SWAY_FRAMES
        way = np.array([[1, 0, SWAY_PX[0] * np.sin(phase)], [0, 1, SWAY_PX[1] * np.sin(2 * phase)]])
        moved = cv2.warpAffine(still, way, (WIDTH, HEIGHT), borderMode=cv2.BORDER_REPLICATE)
        grain = noise.normal(0.0, NOISE_LUMA, (HEIGHT, WIDTH, 1))
        frames.append(np.clip(moved + grain, 0, 255).astype(np.uint8))
    return frames


def staged_films(pictures: Sequence[U8], *, seconds: float, visits: int) -> tuple[Film, Film]:
    """People who stand there all the time; and who come for a second and go, `visits` times.

    They stay away for longer than anybody remembers a face that is out of sight.
    """
    there, empty = standing(pictures), standing([], EMPTY_FRAMES)
    acts = [(there, RATE), (empty, round(1.2 * RATE))] * visits
    return (
        film_of_frames("people standing there", [(there, round(seconds * RATE))]),
        film_of_frames("people coming and going", acts),
    )


def film_of_frames(name: str, acts: Sequence[tuple[Sequence[U8], int]]) -> Film:
    """Acts of BGR frames, each repeated until it has lasted so many frames, at RATE."""

    def play() -> Playing:
        number = 0
        for frames, count in acts:
            for turn in range(count):
                planes = Planes(frames[turn % len(frames)])
                yield Shot(number * NANOSECONDS // RATE, planes)
                number += 1
        return number * NANOSECONDS // RATE

    height, width = acts[0][0][0].shape[:2]
    description = CameraDescription(
        name="replay",
        device=name,
        width=width,
        height=height,
        pixel_format=PixelFormat.BGR,
        native=PixelFormat.BGR.value,
        frames_per_second=float(RATE),
        buffers=BUFFERS,
        dma=False,
        wish=CameraWish(),
    )

    def open_film(pace: Pace, loop: bool) -> Camera:
        return ReplayCamera(
            description,
            play,
            real=pace == "real",
            loop=loop,
            now_ns=time.monotonic_ns,
            sleep=time.sleep,
        )

    return Film(name, open_film)


def film_of_files(paths: Sequence[Path]) -> Film:
    """Videos and pictures, a picture for one frame. Raises UsageError where there is none."""
    found = find_pictures(paths, videos=True)
    if not found:
        raise UsageError(
            f"{', '.join(str(path) for path in paths)}: no picture and no video",
            "name pictures, videos or folders of them",
        )

    def open_film(pace: Pace, loop: bool) -> Camera:
        return open_replay(
            found,
            CameraWish(),
            pace=pace,
            loop=loop,
            picture_seconds=0.0,
            buffers=BUFFERS,
            memory_bytes=FILE_BYTES,
        )

    return Film(", ".join(path.name for path in paths), open_film)
