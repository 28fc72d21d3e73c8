"""Plays photographs into the output of the kernel's virtual camera, in the machine.

    play.py SHOWN | v4l2-ctl --device OUTPUT --stream-out-mmap --stream-from=-

The file SHOWN names the photograph that hangs on the wall now; where it names none, the wall is
bare. Frames are YUYV. No two are equal: a sensor's noise never repeats.
"""

import sys
import time
from pathlib import Path

import cv2
import numpy as np

WIDTH, HEIGHT = 1280, 720
MARGIN_PX = 45
"""What is cut off a photograph on every side: the head fills the frame's height."""
PHOTOGRAPH_PX = 700
FRAMES_PER_SECOND = 5
GRAINS = 7


def wall(photograph: str) -> np.ndarray:
    """(720, 1280, 3) BGR."""
    slope = np.linspace(90, 160, WIDTH, dtype=np.uint8)
    scene = np.repeat(np.tile(slope, (HEIGHT, 1))[..., None], 3, axis=2)
    if photograph:
        picture = cv2.imread(photograph)
        if picture is None:
            sys.exit(f"{photograph} is no picture")
        picture = picture[MARGIN_PX:-MARGIN_PX, MARGIN_PX:-MARGIN_PX]
        top, left = (HEIGHT - PHOTOGRAPH_PX) // 2, (WIDTH - PHOTOGRAPH_PX) // 2
        side = slice(top, top + PHOTOGRAPH_PX), slice(left, left + PHOTOGRAPH_PX)
        scene[side] = cv2.resize(picture, (PHOTOGRAPH_PX,) * 2, interpolation=cv2.INTER_CUBIC)
    return scene


def takes(scene: np.ndarray) -> list[bytes]:
    """The scene with grain on its luma, some times."""
    chance = np.random.default_rng(1)
    yuyv = cv2.cvtColor(scene, cv2.COLOR_BGR2YUV_YUY2)
    found = []
    for _ in range(GRAINS):
        grain = chance.integers(-2, 3, (HEIGHT, WIDTH), dtype=np.int16)
        take = yuyv.copy()
        take[..., 0] = np.clip(yuyv[..., 0] + grain, 16, 235)
        found.append(take.tobytes())
    return found


def play(shown: Path) -> None:
    """Until whoever reads goes away."""
    films: dict[str, list[bytes]] = {}
    number = 0
    while True:
        photograph = shown.read_text().strip()
        if photograph not in films:
            films[photograph] = takes(wall(photograph))
        number += 1
        sys.stdout.buffer.write(films[photograph][number % GRAINS])
        sys.stdout.buffer.flush()
        time.sleep(1 / FRAMES_PER_SECOND)


if __name__ == "__main__":
    play(Path(sys.argv[1]))
