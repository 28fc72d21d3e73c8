"""Fixtures of the system tests: one real pack, one door, and a disk that is soon full."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from door_site import Site, inhabited
from small_disk import small_disk as mounted
from stand_in_pack import import_stand_in


@pytest.fixture(scope="session")
def stand_in_models(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A models folder with the pack of `stand_in_pack`, prepared once; read only."""
    return import_stand_in(shared_data, tmp_path_factory.mktemp("stand-in-models"))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of four megabytes."""
    with mounted(tmp_path / "disk", megabytes=4) as disk:
        yield disk


@pytest.fixture(scope="session")
def site(
    shared_data: Path, stand_in_models: Path, tmp_path_factory: pytest.TempPathFactory
) -> Site:
    """Whoever changes something there undoes it."""
    return inhabited(tmp_path_factory.mktemp("site"), stand_in_models, shared_data)


@pytest.fixture
def nobody(site: Site) -> Iterator[Site]:
    """The same site, with nobody before the camera and the line as the last test left it."""
    site.configure(site.empty)
    yield site
    site.configure()
