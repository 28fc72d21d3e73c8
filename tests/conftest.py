"""Fixtures of every test: where real data is, and folders that belong to the test alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder with evaluation pictures and models; skips where this machine has none."""
    named = os.environ.get("EDGEFACED_TEST_DATA")
    checkout = Path(__file__).resolve().parents[1]
    folder = Path(named) if named else checkout.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no evaluation data here: set EDGEFACED_TEST_DATA to a folder that has it")
    return folder


@pytest.fixture
def own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Moves configuration, gallery and models of this process into a folder of the test's."""
    monkeypatch.setenv("EDGEFACED_CONFIG", str(tmp_path / "edgefaced.toml"))
    monkeypatch.setenv("EDGEFACED_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("EDGEFACED_MODELS_DIR", str(tmp_path / "models"))
    return tmp_path
