"""Who keeps pictures: nobody, unless some are wanted or are still there."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgefaced.config.places import Places, places
from edgefaced.config.settings import Settings
from edgefaced.outlets import keeper_of
from edgefaced.pipeline.tray import PictureWish


@pytest.fixture
def here(tmp_path: Path) -> Places:
    return places({"EDGEFACED_STATE_DIR": str(tmp_path)}, root=False)


def test_by_default_nobody(here: Places) -> None:
    assert keeper_of(Settings(), here) is None


def test_what_is_wanted_is_wished_for(here: Places) -> None:
    section = {"of": ["spoof"], "what": "frame", "longest_side_px": 640}
    keeper = keeper_of(Settings.model_validate({"pictures": section}), here)
    assert keeper is not None
    assert keeper.tray.wish == PictureWish(whole=True, longest_px=640)
    assert here.pictures_dir.parent == here.state_dir, "`uninstall --purge` takes the folder"


def test_after_they_were_turned_off_those_that_are_there_still_age(here: Places) -> None:
    here.pictures_dir.mkdir()
    keeper = keeper_of(Settings(), here)
    assert keeper is not None
    assert keeper.tray.wish is None
