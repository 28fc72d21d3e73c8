"""What is measured on: one 720p frame with one face."""

from __future__ import annotations

import numpy as np

from edgefaced.core.letterbox import fit
from edgefaced.core.scaling import resize_into
from edgefaced.types import U8

WIDTH, HEIGHT = 1280, 720
BACKGROUND = 96


def scene(picture: U8) -> U8:
    """A BGR picture in the middle of a grey 1280x720 frame, as large as it fits.

    A picture of this very size is taken as it is.
    """
    box = fit(picture.shape[1], picture.shape[0], WIDTH, HEIGHT)
    frame = np.full((HEIGHT, WIDTH, 3), BACKGROUND, np.uint8)
    top, left = (HEIGHT - box.fitted_height) // 2, (WIDTH - box.fitted_width) // 2
    resize_into(frame[top : top + box.fitted_height, left : left + box.fitted_width], picture)
    return frame
