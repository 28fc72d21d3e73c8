"""Moving a gallery to another model by its kept pictures."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
import pytest

from edgefaced.errors import GalleryBusy, GalleryDamaged, Refused
from edgefaced.gallery.records import NewTemplate
from edgefaced.gallery.reembed import re_embed
from edgefaced.gallery.store import Gallery
from edgefaced.types import F32, AlignedFace, ColourOrder, Embedding

Template = Callable[..., NewTemplate]


def picture(seed: int) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (112, 112, 3), np.uint8)
    done, png = cv2.imencode(".png", pixels)
    assert done
    return png.tobytes()


class MeanColours:
    """An embedder by arithmetic: the mean red, green and blue of each quarter of the picture."""

    model_id = "colours"
    colour_order = ColourOrder.BGR

    def embed(self, face: AlignedFace) -> Embedding:
        assert face.colour_order is ColourOrder.BGR
        quarters = face.pixels.reshape(2, 56, 2, 56, 3).mean(axis=(1, 3))
        raw = quarters[..., ::-1].reshape(-1) - 127
        unit: F32 = (raw / np.linalg.norm(raw)).astype(np.float32)
        return Embedding(unit, self.model_id)


def expected(seed: int) -> F32:
    pixels = np.random.default_rng(seed).integers(0, 256, (112, 112, 3), np.uint8)
    return MeanColours().embed(AlignedFace(pixels, ColourOrder.BGR)).vector


def test_kept_pictures_become_templates_of_the_new_model(
    gallery: Gallery, template: Template
) -> None:
    ann = gallery.enrol("Ann", [template(1, picture(1)), template(2, picture(2))], consent="yes")
    bob = gallery.enrol("Bob", [template(3, picture(3)), template(4)])
    told: list[tuple[int, int]] = []
    report = re_embed(gallery, MeanColours(), progress=lambda done, of: told.append((done, of)))
    assert (report.people, report.templates, report.without_pictures) == (2, 3, ())
    assert report.scrubbed
    assert told == [(0, 2), (1, 2), (2, 2)]
    table = gallery.templates("colours")
    by_person = {
        person_id: table.vectors[table.owners == n] for n, person_id in enumerate(table.person_ids)
    }
    np.testing.assert_array_equal(by_person[ann.id], [expected(1), expected(2)])
    np.testing.assert_array_equal(by_person[bob.id], [expected(3)])
    found = gallery.find("Ann")
    assert found is not None
    assert (found.consent, found.enrolled_at) == (ann.consent, ann.enrolled_at)
    again = re_embed(gallery, MeanColours())
    assert (again.people, again.templates) == (0, 0), "nothing is left to do"


def test_people_without_pictures_stop_it(gallery: Gallery, template: Template) -> None:
    gallery.enrol("Ann", [template(1, picture(1))])
    for n in range(7):
        gallery.enrol(f"Bob {n}", [template(10 + n)])
    with pytest.raises(Refused, match=r"no pictures are kept of Bob 0, .* and 2 more.*drop-others"):
        re_embed(gallery, MeanColours())
    assert len(gallery.templates("sface").vectors) == 8


def test_or_lose_their_templates_and_stay_known(gallery: Gallery, template: Template) -> None:
    gallery.enrol("Ann", [template(1, picture(1))])
    bob = gallery.enrol("Bob", [template(2)], consent="yes")
    report = re_embed(gallery, MeanColours(), drop_others=True)
    assert (report.people, report.without_pictures) == (1, ("Bob",))
    found = gallery.find("Bob")
    assert found is not None
    assert (found.id, found.templates, found.model_ids) == (bob.id, 0, ())
    assert found.consent == bob.consent
    new = NewTemplate(Embedding(expected(9), "colours"))
    assert gallery.enrol("Bob", [new], extend=True).templates == 1


def test_a_change_meanwhile_stops_it(gallery: Gallery, other: Gallery, template: Template) -> None:
    gallery.enrol("Ann", [template(1, picture(1))])

    def meanwhile(done: int, of: int) -> None:
        if done == of:
            other.enrol("Bob", [template(2)])

    with pytest.raises(GalleryBusy, match="changed meanwhile"):
        re_embed(gallery, MeanColours(), progress=meanwhile)
    assert len(gallery.templates("sface").vectors) == 2


def test_an_empty_gallery(gallery: Gallery) -> None:
    assert re_embed(gallery, MeanColours()).people == 0


def test_a_kept_picture_that_is_none(gallery: Gallery, template: Template) -> None:
    gallery.enrol("Ann", [template(1, b"not a picture")])
    with pytest.raises(GalleryDamaged, match="not a picture"):
        re_embed(gallery, MeanColours())
    assert len(gallery.templates("sface").vectors) == 1
