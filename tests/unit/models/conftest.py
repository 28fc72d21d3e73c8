"""A store of the test's own and a tiny pack to install into it."""

from __future__ import annotations

from pathlib import Path

import pytest
from installation import Installation
from tiny_pack import TinyPack

from edgefaced.models.manifest import PackManifest


@pytest.fixture
def here(tmp_path: Path) -> Installation:
    return Installation(tmp_path)


@pytest.fixture(scope="session")
def tiny() -> TinyPack:
    return TinyPack()


@pytest.fixture
def pack(here: Installation, tiny: TinyPack) -> PackManifest:
    """The tiny pack, known and not installed."""
    return here.know(tiny)
