"""Moving a gallery to another model: kept pictures embedded again, in one transaction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import cv2
import numpy as np

from edgefaced.errors import GalleryBusy, GalleryDamaged, Refused
from edgefaced.gallery import rows
from edgefaced.gallery.lock import mark_scrub
from edgefaced.gallery.records import ChangeKind, NewTemplate, Person
from edgefaced.gallery.store import Gallery, refuse_other_models
from edgefaced.protocols import Embedder
from edgefaced.types import AlignedFace, ColourOrder


@dataclass(frozen=True, slots=True)
class ReembedReport:
    """`without_pictures` lost their templates and must be enrolled again."""

    people: int
    templates: int
    without_pictures: tuple[str, ...]
    scrubbed: bool


def re_embed(
    gallery: Gallery,
    embedder: Embedder,
    *,
    drop_others: bool = False,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> ReembedReport:
    """Replaces every template of another model by new ones of the kept pictures.

    People without a kept picture stop it with Refused; with `drop_others` they keep their name
    and consent and lose their templates. Raises GalleryBusy where somebody changed the gallery
    meanwhile.
    """
    with gallery.reading() as db:
        revision = rows.revision(db)
        everybody = rows.people(db, gallery.protection)
    moving = [p for p in everybody if p.model_ids not in ((), (embedder.model_id,))]
    fresh: dict[str, list[NewTemplate]] = {}
    for done, person in enumerate(moving):
        progress(done, len(moving))
        fresh[person.id] = _embed_pictures(gallery, embedder, person)
    progress(len(moving), len(moving))
    without = tuple(person.name for person in moving if not fresh[person.id])
    if without and not drop_others:
        raise Refused(
            f"no pictures are kept of {', '.join(without[:5])}"
            + (f" and {len(without) - 5} more" if len(without) > 5 else ""),
            "nothing was changed; --drop-others drops their templates, then `enroll --add` them",
        )
    now = datetime.now(UTC)
    with gallery.writing() as db:
        if rows.revision(db) != revision:
            raise GalleryBusy("the gallery was changed meanwhile", "nothing was changed; try again")
        for person in moving:
            db.execute("DELETE FROM templates WHERE person_id = ?", (person.id,))
        for person in moving:
            rows.insert_templates(db, gallery.protection, person.id, fresh[person.id], now)
            rows.append_change(db, person.id, ChangeKind.TEMPLATES)
        if moving:
            refuse_other_models(db, embedder.model_id)
            mark_scrub(db)
    return ReembedReport(
        people=len(moving) - len(without),
        templates=sum(map(len, fresh.values())),
        without_pictures=without,
        scrubbed=gallery.scrub(only_if_pending=True),
    )


def _embed_pictures(gallery: Gallery, embedder: Embedder, person: Person) -> list[NewTemplate]:
    with gallery.reading() as db:
        stored = list(rows.stored_templates(db, gallery.protection, person.id))
    return [
        NewTemplate(embedder.embed(_face(t.picture_png)), t.picture_png)
        for t in stored
        if t.picture_png is not None
    ]


def _face(png: bytes) -> AlignedFace:
    pixels = cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_COLOR)
    if pixels is None:
        raise GalleryDamaged("a kept picture is not a picture", "remove and enrol the person again")
    return AlignedFace(np.asarray(pixels, np.uint8), ColourOrder.BGR)
