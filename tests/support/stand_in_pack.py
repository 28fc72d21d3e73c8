"""The pack of the evaluation data (SCRFD-500M, w600k_mbf), imported into a folder of the test's."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from edgefaced.cli.main import run

PACK = "w600k-mbf-dequantised"
MANIFEST = Path(__file__).resolve().parents[1] / "packs" / f"{PACK}.toml"
FILES = ("det_500m.onnx", "w600k_mbf_dequantised_fp32.onnx")


def import_stand_in(shared_data: Path, folder: Path) -> Path:
    """Imports it by the command line; returns the models folder. It has no photographs there."""
    offered, models_dir = folder / "offered", folder / "models"
    offered.mkdir()
    for file in (MANIFEST, *(shared_data / "models" / name for name in FILES)):
        shutil.copy(file, offered)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EDGEFACED_MODELS_DIR", str(models_dir))
        assert run(["models", "import", str(offered), "--pack", PACK, "--json"]) == 0
    return models_dir
