"""People painted in one colour: the demo's scenes need pictures, not faces."""

from __future__ import annotations

import numpy as np

from edgefaced.demo.figure import Figure, cut_out
from edgefaced.demo.studio import Cast, Crowd
from edgefaced.types import U8, Box

FACE = Box(60, 40, 140, 150)
OUTLINE = ((60, 30), (140, 30), (140, 160), (199, 190), (199, 239), (0, 239), (0, 190), (60, 160))
RED = (0, 0, 255)


def painted(colour: tuple[int, int, int]) -> U8:
    """A photograph (240, 200, 3) of one colour."""
    picture = np.empty((240, 200, 3), dtype=np.uint8)
    picture[:] = colour
    return picture


def person(colour: tuple[int, int, int]) -> Figure:
    return cut_out(painted(colour), FACE, OUTLINE)


def painted_cast() -> Cast:
    group = np.random.default_rng(5).integers(0, 255, (2000, 2600, 3), dtype=np.uint8)
    faces = tuple(Box(x, 900, x + 80, 1000) for x in range(40, 2500, 120))
    return Cast(
        person_a=person(RED),
        person_b=person((0, 255, 0)),
        stranger_1=person((255, 0, 0)),
        stranger_2=person((255, 0, 255)),
        crowd=Crowd(group, faces),
    )
