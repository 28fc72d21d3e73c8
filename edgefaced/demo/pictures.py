"""The demo's photographs: what they are, whether they are here, and the cast made of them."""

from __future__ import annotations

import tomllib
from pathlib import Path

from edgefaced.demo.figure import Figure, cut_out
from edgefaced.demo.studio import Cast, Crowd
from edgefaced.models.manifest import PictureSpec, Strict
from edgefaced.models.store import ModelStore
from edgefaced.pictures.decode import read_picture
from edgefaced.types import Box

Corners = tuple[float, float, float, float]


class Portrait(Strict):
    """A photograph with the boxes of its faces and, to cut one person out, an outline."""

    picture: PictureSpec
    faces: tuple[Corners, ...]
    outline: tuple[tuple[int, int], ...] = ()

    @property
    def boxes(self) -> tuple[Box, ...]:
        return tuple(Box(*corners) for corners in self.faces)


class Album(Strict):
    """Two people twice, two strangers, a group; and the collector's own list of credits."""

    person_a_enrolled: PictureSpec
    person_a: Portrait
    person_b_enrolled: PictureSpec
    person_b: Portrait
    stranger_1: Portrait
    stranger_2: Portrait
    crowd: Portrait
    credits: PictureSpec

    @property
    def photographs(self) -> tuple[PictureSpec, ...]:
        portraits = (self.person_a, self.person_b, self.stranger_1, self.stranger_2, self.crowd)
        enrolled = (self.person_a_enrolled, self.person_b_enrolled)
        return (*enrolled, *(portrait.picture for portrait in portraits))

    @property
    def files(self) -> tuple[PictureSpec, ...]:
        """Everything that has to be fetched."""
        return (*self.photographs, self.credits)


def read_album() -> Album:
    """The album that travels with the program."""
    with Path(__file__).with_name("pictures.toml").open("rb") as file:
        return Album.model_validate(tomllib.load(file))


def cast_of(album: Album, store: ModelStore) -> Cast:
    """Everybody who plays, from photographs that are here. Raises PictureError."""

    def figure(portrait: Portrait) -> Figure:
        pixels = read_picture(store.layout.photograph(portrait.picture))
        return cut_out(pixels, portrait.boxes[0], portrait.outline)

    crowd = read_picture(store.layout.photograph(album.crowd.picture))
    return Cast(
        person_a=figure(album.person_a),
        person_b=figure(album.person_b),
        stranger_1=figure(album.stranger_1),
        stranger_2=figure(album.stranger_2),
        crowd=Crowd(crowd, album.crowd.boxes),
    )
