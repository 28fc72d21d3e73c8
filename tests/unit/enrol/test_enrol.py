"""Enrolment from files into a real gallery, with painted faces: every gate and every refusal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from painted_faces import (
    BLUE,
    EVERYTHING,
    GREEN,
    RED,
    YELLOW,
    painted_recogniser,
    picture,
    portrait,
)

from edgefaced.enrolment.enrol import EnrolmentPolicy, enrol
from edgefaced.enrolment.examine import FaceRule
from edgefaced.enrolment.finder import FaceFinder
from edgefaced.enrolment.report import EnrolmentReport
from edgefaced.errors import DependencyMissing, ModelMismatch, PictureError, Refused, UsageError
from edgefaced.gallery.records import NewTemplate
from edgefaced.gallery.rows import stored_templates
from edgefaced.gallery.store import Gallery
from edgefaced.pictures.write import write_picture
from edgefaced.types import U8, Box, Embedding

POLICY = EnrolmentPolicy(limits=EVERYTHING, threshold=lambda n: 0.9, minimum_margin=0.01)


@pytest.fixture
def gallery(tmp_path: Path) -> Iterator[Gallery]:
    with Gallery.open(tmp_path / "g.db", tmp_path / "g.key", create=True) as opened:
        yield opened


class Desk:
    """Enrols with what a test leaves unsaid."""

    def __init__(self, gallery: Gallery) -> None:
        self.gallery = gallery

    def enrol(
        self, name: str, *paths: Path, policy: EnrolmentPolicy = POLICY, consent: str | None = None
    ) -> EnrolmentReport:
        with FaceFinder(painted_recogniser()) as finder:
            return enrol(
                name, paths, gallery=self.gallery, finder=finder, policy=policy, consent=consent
            )

    def names(self) -> dict[str, int]:
        return {person.name: person.templates for person in self.gallery.people()}


@pytest.fixture
def desk(gallery: Gallery) -> Desk:
    return Desk(gallery)


def gates(report: EnrolmentReport) -> list[str]:
    return [p.gate for p in report.pictures]


def shades(folder: Path, colour: tuple[int, int, int], count: int, name: str) -> list[Path]:
    return [portrait(folder, f"{name}{n}", colour, n) for n in range(count)]


def test_good_pictures_are_kept_and_found(desk: Desk, tmp_path: Path) -> None:
    report = desk.enrol("Ann", *shades(tmp_path, RED, 3, "ann"), consent="signed a form")
    assert report.refusal is None
    assert gates(report) == ["", "", ""]
    assert report.kept == 3
    assert report.person is not None
    assert report.person.consent is not None
    assert report.person.consent.note == "signed a form"
    assert report.lowest_without_itself is not None
    assert 0.9 < report.lowest_without_itself < 1
    assert desk.names() == {"Ann": 3}


def test_each_picture_says_why_it_was_not_kept(desk: Desk, tmp_path: Path) -> None:
    ann = shades(tmp_path, RED, 3, "ann")
    several = tmp_path / "several.png"
    write_picture(several, picture((RED, Box(20, 60, 100, 140)), (GREEN, Box(200, 60, 280, 140))))
    text = tmp_path / "text.jpg"
    text.write_text("no picture")
    copy = tmp_path / "copy.png"
    copy.write_bytes(ann[1].read_bytes())
    head = tmp_path / "head.png"
    write_picture(head, np.ascontiguousarray(picture((RED, Box(100, 60, 200, 160)))[::-1, ::-1]))
    empty = tmp_path / "empty.png"
    write_picture(empty, picture())
    other = portrait(tmp_path, "ben", GREEN)
    absent = tmp_path / "absent.jpg"
    report = desk.enrol("Ann", *ann, several, text, copy, head, empty, other, absent)
    assert gates(report) == [
        *["", "", ""],
        "several faces",
        "unreadable",
        "duplicate picture",
        "upside down",
        "no face",
        "another person",
        "unreadable",
    ]
    details = [p.detail for p in report.pictures]
    assert "--largest" in details[3]
    assert details[4].startswith("is not a picture")
    assert "ann1.png" in details[5]
    assert "at least 0.90" in details[8]
    assert details[9] == "No such file or directory"
    assert desk.names() == {"Ann": 3}


def test_quality_gates_are_named_with_their_figures(desk: Desk, tmp_path: Path) -> None:
    strict = replace(POLICY, limits=replace(EVERYTHING, minimum_sharpness=5))
    report = desk.enrol("Ann", portrait(tmp_path, "ann", RED), policy=strict)
    assert gates(report) == ["blurred"]
    assert isinstance(report.refusal, Refused)
    assert "blurred" in report.refusal.message
    assert "at least 5" in report.refusal.hint
    assert desk.names() == {}


@pytest.mark.parametrize(
    ("rule", "kept"),
    [
        (FaceRule(largest=True), GREEN),
        (FaceRule(face=1), RED),
        (FaceRule(face=2), GREEN),
        (FaceRule(face=3), None),
        (FaceRule(), None),
    ],
)
def test_of_several_faces_the_one_that_is_meant(
    rule: FaceRule, kept: tuple[int, int, int] | None, desk: Desk, tmp_path: Path
) -> None:
    path = tmp_path / "two.png"
    write_picture(path, picture((RED, Box(20, 60, 80, 120)), (GREEN, Box(150, 60, 290, 200))))
    report = desk.enrol("Ann", path, policy=replace(POLICY, faces=rule))
    if kept is None:
        assert gates(report) == ["no such face" if rule.face else "several faces"]
        return
    other = desk.enrol("Ben", portrait(tmp_path, "ben", kept))
    assert gates(other) == ["enrolled as Ann"]


def test_a_face_enrolled_under_another_name_is_refused_and_named(
    desk: Desk, tmp_path: Path
) -> None:
    desk.enrol("Ann", *shades(tmp_path, RED, 3, "ann"))
    again = [portrait(tmp_path, f"again{n}", RED, 10 + n) for n in range(2)]
    report = desk.enrol("Anna", *again, portrait(tmp_path, "ben", GREEN))
    assert gates(report)[:2] == ["enrolled as Ann", "enrolled as Ann"]
    assert report.refusal is not None
    assert report.refusal.message == "this face is already enrolled as Ann"
    assert "2 of 3" in report.refusal.hint
    assert desk.names() == {"Ann": 3}


def test_one_picture_of_somebody_enrolled_does_not_cost_the_others(
    desk: Desk, tmp_path: Path
) -> None:
    desk.enrol("Ann", portrait(tmp_path, "ann", RED))
    report = desk.enrol("Ben", *shades(tmp_path, GREEN, 3, "ben"), portrait(tmp_path, "x", RED))
    assert gates(report) == ["", "", "", "enrolled as Ann"]
    assert desk.names() == {"Ann": 1, "Ben": 3}


def test_a_twin_may_be_enrolled_when_allowed_but_not_a_copy(desk: Desk, tmp_path: Path) -> None:
    desk.enrol("Ann", portrait(tmp_path, "ann", RED))
    allowed = replace(POLICY, allow_duplicate=True)
    twin = portrait(tmp_path, "twin", (70, 60, 200))
    report = desk.enrol("Amy", twin, portrait(tmp_path, "ann-again", RED), policy=allowed)
    assert gates(report) == ["", "not to be told from Ann"]
    assert desk.names() == {"Amy": 1, "Ann": 1}


def test_pictures_that_disagree_enrol_nobody(desk: Desk, tmp_path: Path) -> None:
    report = desk.enrol("Ann", portrait(tmp_path, "r", RED), portrait(tmp_path, "g", GREEN))
    assert gates(report) == ["pictures disagree", "pictures disagree"]
    assert report.refusal is not None
    assert "pictures disagree 2" in report.refusal.message
    assert desk.names() == {}


def test_adding_compares_with_the_person_and_not_with_the_majority(
    desk: Desk, tmp_path: Path
) -> None:
    add = replace(POLICY, extend=True)
    with pytest.raises(Refused, match="not enrolled"):
        desk.enrol("Ann", portrait(tmp_path, "a", RED), policy=add)
    ann = shades(tmp_path, RED, 3, "ann")
    desk.enrol("Ann", *ann[:2])
    with pytest.raises(Refused, match="already enrolled"):
        desk.enrol("ann", ann[2])
    others = shades(tmp_path, GREEN, 3, "ben")
    report = desk.enrol("Ann", ann[0], ann[2], *others, policy=add)
    assert gates(report) == ["duplicate picture", "", *["another person"] * 3]
    assert "an enrolled one" in report.pictures[0].detail
    assert desk.names() == {"Ann": 3}


def test_a_person_has_twenty_templates_at_most(desk: Desk, tmp_path: Path) -> None:
    report = desk.enrol("Ann", *shades(tmp_path, RED, 30, "ann"))
    assert report.kept == 20
    assert gates(report).count("not needed") == 10
    add = replace(POLICY, extend=True)
    more = desk.enrol("Ann", portrait(tmp_path, "more", RED, 99), policy=add)
    assert gates(more) == ["not needed"]
    assert isinstance(more.refusal, Refused)
    assert desk.names() == {"Ann": 20}


def test_a_profile_that_would_not_be_recognised_is_undone(desk: Desk, tmp_path: Path) -> None:
    unreachable = replace(POLICY, threshold=lambda n: 0.9 if n == 1 else 1.1)
    with pytest.raises(Refused, match=r"would not be recognised in ann0\.png: below threshold"):
        desk.enrol("Ann", *shades(tmp_path, RED, 2, "ann"), policy=unreachable)
    assert desk.names() == {}
    desk.enrol("Ann", portrait(tmp_path, "a", RED))
    with pytest.raises(Refused, match="remove the person"):
        desk.enrol(
            "Ann",
            portrait(tmp_path, "b", RED, 1),
            policy=replace(unreachable, extend=True),
        )


def test_a_threshold_is_asked_for_before_any_picture(desk: Desk) -> None:
    def none(templates: int) -> float:
        raise UsageError("no threshold")

    with pytest.raises(UsageError, match="no threshold"):
        desk.enrol("Ann", Path("never-looked-at.png"), policy=replace(POLICY, threshold=none))


def test_a_person_without_templates_is_enrolled_as_if_new(desk: Desk, tmp_path: Path) -> None:
    desk.enrol("Ann", portrait(tmp_path, "a", RED), consent="signed")
    with desk.gallery.database.writing() as db:  # what moving to another model may leave
        db.execute("DELETE FROM templates")
    assert desk.names() == {"Ann": 0}
    report = desk.enrol("Ann", portrait(tmp_path, "b", GREEN))
    assert report.person is not None
    assert report.person.consent is not None
    assert report.lowest_without_itself is None
    assert desk.names() == {"Ann": 1}


def test_kept_pictures_are_the_faces_in_their_true_colours(desk: Desk, tmp_path: Path) -> None:
    for keep, expected in ((False, 0), (True, 1)):
        desk.enrol(
            f"Ann {keep}",
            portrait(tmp_path, f"{keep}", YELLOW if keep else BLUE),
            policy=replace(POLICY, keep_pictures=keep),
        )
        with desk.gallery.database.reading() as db:
            stored = list(stored_templates(db, desk.gallery.protection))
        pictures = [t.picture_png for t in stored if t.picture_png is not None]
        assert len(pictures) == expected
    face = decoded(pictures[0])
    assert face.shape == (112, 112, 3)
    assert tuple(face[60, 56]) == YELLOW


def decoded(png: bytes) -> U8:
    return np.asarray(cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_COLOR), np.uint8)


def test_what_cannot_be_read_at_all_is_a_picture_error(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = tmp_path / "bad.jpg"
    bad.write_text("x")
    one = desk.enrol("Ann", bad)
    assert isinstance(one.refusal, PictureError)
    assert str(bad) in one.refusal.message
    two = desk.enrol("Ann", bad, tmp_path / "absent.jpg")
    assert isinstance(two.refusal, PictureError)
    assert two.refusal.message == "none of the 2 pictures can be read"
    none = desk.enrol("Ann")
    assert isinstance(none.refusal, PictureError)
    assert none.refusal.message == "no picture was given"

    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    heic = tmp_path / "a.heic"
    heic.write_bytes(b"\x00\x00\x00\x18ftypheic" + b"\x01" * 100)
    assert isinstance(desk.enrol("Ann", heic, heic).refusal, DependencyMissing)
    assert type(desk.enrol("Ann", heic, bad).refusal) is PictureError
    mixed = desk.enrol("Ann", heic, portrait(tmp_path, "ann", RED))
    assert gates(mixed) == ["unreadable", ""]
    assert "heic" in mixed.pictures[0].detail


def test_what_is_no_name_is_refused_before_any_picture(desk: Desk) -> None:
    with pytest.raises(UsageError):
        desk.enrol("two\nlines", Path("never-looked-at.png"))


def test_a_gallery_of_another_model_is_refused_before_any_picture(desk: Desk) -> None:
    vector = np.zeros(3, np.float32)
    vector[0] = 1
    desk.gallery.enrol("Old", [NewTemplate(Embedding(vector, "older-model"))])
    with pytest.raises(ModelMismatch, match="older-model"):
        desk.enrol("Ann", Path("never-looked-at.png"))
