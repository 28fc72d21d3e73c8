"""No telemetry: the inference library neither keeps events for its maker nor sends any."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import onnx
from tiny_pack import embedder

RUN = """
import sys
from pathlib import Path
import numpy as np
from edgefaced.inference.onnx import OnnxBackend
backend = OnnxBackend(Path(sys.argv[1]).read_bytes(), threads=1, optimise=True)
backend.run({"pixels": np.zeros((1, 3, 112, 112), np.float32)})
backend.close()
"""


def test_running_a_network_leaves_nothing_behind(tmp_path: Path) -> None:
    """Where its telemetry runs, the library keeps a device id, a database and a session file."""
    model = tmp_path / "model.onnx"
    onnx.save_model(onnx.load_model_from_string(embedder()), model)
    home = tmp_path / "home"
    home.mkdir()
    environment = {
        **os.environ,
        "HOME": str(home),
        "TMPDIR": str(home),
        "XDG_CACHE_HOME": str(home / "cache"),
        "XDG_DATA_HOME": str(home / "data"),
        "ORT_DISABLE_TELEMETRY": "0",  # whatever somebody else's environment says
    }
    # Where the library takes a test run for a reason to be silent, this test would prove nothing.
    for name in ("CI", "ORT_RUNNING_UNIT_TESTS"):
        environment.pop(name, None)
    subprocess.run([sys.executable, "-c", RUN, str(model)], env=environment, check=True)
    assert not [path for path in home.rglob("*") if path.is_file()]
