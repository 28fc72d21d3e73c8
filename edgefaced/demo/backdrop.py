"""The place where the demo's camera hangs: an entrance hall, drawn from nothing but a seed."""

from __future__ import annotations

import cv2
import numpy as np

from edgefaced.types import U8

WIDTH_PX, HEIGHT_PX = 1280, 720
VANISHING = (640, 268)
"""Where the hall's long edges meet: the height of the camera, and of a walker's eyes."""

Point = tuple[float, float]


def entrance(rng: np.random.Generator) -> U8:
    """(720, 1280, 3) BGR: back wall with a glazed door, side walls with doors, floor, lamps."""
    hall = np.zeros((HEIGHT_PX, WIDTH_PX, 3), dtype=np.uint8)
    tint = rng.uniform(-5, 5, size=3)
    wall = np.array([188, 196, 200]) + tint
    left, right, top, bottom = 446.0, 846.0, 118.0, 452.0
    near = 5.2  # how much larger the hall's mouth is than its back wall

    def out(x: float, y: float, times: float = near) -> Point:
        return (
            VANISHING[0] + (x - VANISHING[0]) * times,
            VANISHING[1] + (y - VANISHING[1]) * times,
        )

    corners: list[Point] = [(left, top), (right, top), (right, bottom), (left, bottom)]
    outer = [out(*corner) for corner in corners]
    faces = (
        ((0, 1), (214, 220, 222)),  # ceiling
        ((1, 2), tuple(wall * 0.93)),  # right wall
        ((2, 3), (104, 118, 128)),  # floor
        ((3, 0), tuple(wall * 0.86)),  # left wall
    )
    for (a, b), colour in faces:
        _fill(hall, [corners[a], corners[b], outer[b], outer[a]], colour)
    _fill(hall, corners, tuple(wall))

    for depth in np.geomspace(1.06, near, 9):  # joints of the floor's slabs
        cv2.line(
            hall, _at(out(left, bottom, depth)), _at(out(right, bottom, depth)), (92, 106, 116), 2
        )
    for share in np.linspace(0, 1, 7):
        x = left + share * (right - left)
        cv2.line(hall, _at((x, bottom)), _at(out(x, bottom)), (92, 106, 116), 2)
    for side in (left, right):  # skirting
        _fill(
            hall,
            [(side, bottom - 8), (side, bottom), out(side, bottom), out(side, bottom - 8)],
            (84, 92, 98),
        )
    for depth in (1.25, 1.9, 3.0):  # lamps
        _fill(
            hall,
            [
                out(600, top, depth),
                out(680, top, depth),
                out(680, top, depth * 1.14),
                out(600, top, depth * 1.14),
            ],
            (250, 252, 252),
        )

    _door(hall, [(560, 190), (720, 190), (720, bottom), (560, bottom)], rng, glazed=True)
    for side, far, close in ((left, 1.35, 1.75), (right, 1.2, 1.5), (right, 2.2, 3.0)):
        _door(
            hall,
            [
                out(side, 186, far),
                out(side, 186, close),
                out(side, bottom, close),
                out(side, bottom, far),
            ],
            rng,
            glazed=False,
        )
    return _photographed(hall, rng)


def _door(hall: U8, corners: list[Point], rng: np.random.Generator, *, glazed: bool) -> None:
    """A frame, a leaf inside it, and in a glazed one the daylight outside."""
    shade = rng.uniform(0.9, 1.1)
    _fill(hall, corners, (70, 82, 92))
    leaf = _inset(corners, 0.07)
    _fill(hall, leaf, tuple(np.array([98, 128, 156]) * shade))
    pane = _inset(leaf, 0.13)
    _fill(hall, pane, (236, 232, 220) if glazed else tuple(np.array([88, 116, 144]) * shade))
    if glazed:
        middle = [
            ((a[0] + b[0]) / 2, (a[1] + b[1]) / 2)
            for a, b in ((pane[0], pane[1]), (pane[3], pane[2]))
        ]
        cv2.line(hall, _at(middle[0]), _at(middle[1]), (90, 118, 146), 8)


def _photographed(hall: U8, rng: np.random.Generator) -> U8:
    """What a lens and plaster do to flat colours: grain, blotches, light from above, vignette."""
    soft = cv2.GaussianBlur(hall, (0, 0), 3.2).astype(np.float32)
    blotches = cv2.resize(
        rng.normal(0, 1.3, size=(24, 42)).astype(np.float32),
        (WIDTH_PX, HEIGHT_PX),
        interpolation=cv2.INTER_CUBIC,
    )
    grain = rng.normal(0, 2.2, size=(HEIGHT_PX, WIDTH_PX)).astype(np.float32)
    y, x = np.mgrid[-1 : 1 : HEIGHT_PX * 1j, -1 : 1 : WIDTH_PX * 1j].astype(np.float32)
    light = 1.04 - 0.10 * (y + 0.3) - 0.16 * (x * x + y * y)
    lit = (soft + (blotches + grain)[:, :, np.newaxis]) * light[:, :, np.newaxis]
    return np.asarray(np.clip(lit, 0, 255), dtype=np.uint8)


def _inset(corners: list[Point], share: float) -> list[Point]:
    """The quadrilateral moved inwards by a share of each side; its foot stays on the floor."""
    a, b, c, d = (np.array(corner) for corner in corners)
    top_left = a + (b - a) * share + (d - a) * share * 0.6
    top_right = b + (a - b) * share + (c - b) * share * 0.6
    bottom_right = c + (d - c) * share + (b - c) * share * 0.2
    bottom_left = d + (c - d) * share + (a - d) * share * 0.2
    return [(float(p[0]), float(p[1])) for p in (top_left, top_right, bottom_right, bottom_left)]


def _fill(hall: U8, corners: list[Point], colour: tuple[float, ...]) -> None:
    points = np.array([_at(corner) for corner in corners], dtype=np.int32)
    cv2.fillPoly(hall, [points], [float(c) for c in colour], lineType=cv2.LINE_AA)


def _at(point: Point) -> tuple[int, int]:
    return round(point[0]), round(point[1])
