"""Somebody is led to five pictures and enrolled; whoever is not, leaves nothing behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from painted_faces import GREEN, RED, Colour
from sitters import FRONTAL, POSES, batch, seen, sitting

from edgefaced.core.coaching import Advice, Pose
from edgefaced.enrolment.report import EnrolmentReport
from edgefaced.errors import Refused, UsageError
from edgefaced.gallery.store import Gallery
from edgefaced.pipeline.faces import FaceBatch
from edgefaced.pipeline.tap import FaceTap
from edgefaced.sitting import WORDS, Guidance, Sitting


def all_poses(colour: Colour) -> Iterator[FaceBatch]:
    for number, quality in enumerate(POSES):
        for _ in range(2):
            yield batch(seen(colour, quality, number))


def hold(
    which: Sitting, batches: Iterator[FaceBatch], name: str = "Ann", seconds: float = 60.0
) -> tuple[list[Guidance], EnrolmentReport | None]:
    """Shows a batch at each step; what was said, and the report."""
    guidance: list[Guidance] = []
    with closing(which.hold(name, seconds=seconds)) as steps:
        for step in steps:
            if isinstance(step, Guidance):
                guidance.append(step)
            elif step is not None:
                return guidance, step
            following = next(batches, None)
            if following is not None:
                which.tap.show(following)
    return guidance, None


def people(folder: Path) -> list[tuple[str, int]]:
    with Gallery.open(folder / "g.db", folder / "g.key") as gallery:
        return [(person.name, person.templates) for person in gallery.people()]


def test_five_good_pictures_are_an_enrolment(tmp_path: Path) -> None:
    guidance, report = hold(sitting(tmp_path, FaceTap()), all_poses(RED))
    assert report is not None
    assert report.refusal is None
    assert [str(p.path) for p in report.pictures] == [
        Pose.FRONTAL,
        Pose.LEFT,
        Pose.RIGHT,
        Pose.UP,
        Pose.DOWN,
    ]
    assert people(tmp_path) == [("Ann", 5)]
    taken = [len(said.taken) for said in guidance]
    assert taken == sorted(taken)
    assert (guidance[-1].advice, guidance[-1].missing) == (Advice.DONE, ())


def test_somebody_who_is_enrolled_is_refused_under_another_name(tmp_path: Path) -> None:
    hold(sitting(tmp_path, FaceTap()), all_poses(RED))
    _, report = hold(sitting(tmp_path, FaceTap()), all_poses(RED), "Eve")
    assert report is not None
    assert "already enrolled as Ann" in str(report.refusal)
    assert people(tmp_path) == [("Ann", 5)]
    _, other = hold(sitting(tmp_path, FaceTap()), all_poses(GREEN), "Bob")
    assert other is not None
    assert other.refusal is None


@pytest.mark.parametrize(
    ("name", "extend", "error"),
    [("Ann", False, Refused), ("Nobody", True, Refused), ("  ", False, UsageError)],
)
def test_a_name_is_refused_before_anybody_stands_still(
    tmp_path: Path, name: str, extend: bool, error: type[Exception]
) -> None:
    hold(sitting(tmp_path, FaceTap()), all_poses(RED))
    with pytest.raises(error):
        next(sitting(tmp_path, FaceTap(), extend=extend).hold(name, seconds=60))


def test_pictures_are_added_to_a_person(tmp_path: Path) -> None:
    hold(sitting(tmp_path, FaceTap()), all_poses(RED))
    more = (batch(seen(RED, quality, 10 + n // 2)) for n, quality in enumerate(POSES * 2))
    paired = (b for one in more for b in (one, one))
    _, report = hold(sitting(tmp_path, FaceTap(), extend=True), paired)
    assert report is not None
    assert people(tmp_path)[0][1] > 5


def test_in_the_dark_nobody_is_enrolled_and_the_reason_is_said(tmp_path: Path) -> None:
    def dark() -> Iterator[FaceBatch]:
        while True:
            yield batch(seen(RED, replace(FRONTAL, brightness=3)))

    with pytest.raises(Refused, match="too dark"):
        hold(sitting(tmp_path, FaceTap()), dark(), seconds=2.0)
    assert people(tmp_path) == []


def test_a_dead_camera_is_said_instead_of_advice(tmp_path: Path) -> None:
    with closing(
        sitting(tmp_path, FaceTap(), lambda: "the camera gives no pictures").hold("Ann", seconds=60)
    ) as steps:
        said = next(steps)
    assert isinstance(said, Guidance)
    assert said.words == "the camera gives no pictures"


def test_a_board_that_looks_slower_than_it_is_asked_takes_pictures_all_the_same(
    tmp_path: Path,
) -> None:
    tap = FaceTap()
    with closing(sitting(tmp_path, tap).hold("Ann", seconds=60)) as steps:
        next(steps)
        tap.show(batch(seen(RED)))
        said = [next(steps) for _ in range(2)]  # the second is asked for without a new look
        tap.show(batch(seen(RED)))
        said.append(next(steps))
    assert isinstance(said[-1], Guidance)
    assert said[-1].taken == (Pose.FRONTAL,)


def test_who_leaves_early_leaves_nothing(tmp_path: Path) -> None:
    tap = FaceTap()
    with closing(sitting(tmp_path, tap).hold("Ann", seconds=60)) as steps:
        next(steps)
        for _ in range(2):
            tap.show(batch(seen(RED)))
            step = next(steps)
        assert isinstance(step, Guidance)
        assert step.taken == (Pose.FRONTAL,)
    assert people(tmp_path) == []
    tap.show(batch(seen(RED)))  # and nobody looks any more


def test_all_advice_has_words() -> None:
    assert set(WORDS) == set(Advice)
