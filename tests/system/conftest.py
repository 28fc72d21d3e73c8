"""Fixtures of the system tests: one real pack for the whole run."""

from __future__ import annotations

from pathlib import Path

import pytest
from stand_in_pack import import_stand_in


@pytest.fixture(scope="session")
def stand_in_models(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A models folder with the pack of `stand_in_pack`, prepared once; read only."""
    return import_stand_in(shared_data, tmp_path_factory.mktemp("stand-in-models"))
