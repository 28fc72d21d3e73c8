"""A pack whose embedder gives NaN for every face, and numbers for what a pack is proved on."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from stand_in_pack import MANIFEST, PACK

from edgefaced.cli.main import run

NAME = "not-a-number"
DIMENSION = 512
SMOOTH = 0.075
"""How much neighbouring pixels of a face differ at most, on average, in the network's units; those
of the pattern on which a pack without photographs is proved differ by more.
"""


def embedder() -> bytes:
    """Any vector, times one plus nothing of a root that a smooth picture has none of."""
    random = np.random.default_rng(3)
    weight = random.normal(0, 1, (3, DIMENSION)).astype(np.float32)
    constants: dict[str, np.ndarray] = {
        "weight": weight,
        "begin": np.array([1], np.int64),
        "end": np.array([112], np.int64),
        "before": np.array([111], np.int64),
        "zero": np.array([0], np.int64),
        "columns": np.array([3], np.int64),
        "smooth": np.array(SMOOTH, np.float32),
        "nothing": np.array(0, np.float32),
        "one": np.array(1, np.float32),
    }
    nodes = [
        helper.make_node("GlobalAveragePool", ["input.1"], ["means"]),
        helper.make_node("Flatten", ["means"], ["row"]),
        helper.make_node("MatMul", ["row", "weight"], ["vector"]),
        helper.make_node("Slice", ["input.1", "begin", "end", "columns"], ["right"]),
        helper.make_node("Slice", ["input.1", "zero", "before", "columns"], ["left"]),
        helper.make_node("Sub", ["right", "left"], ["steps"]),
        helper.make_node("Abs", ["steps"], ["sizes"]),
        helper.make_node("ReduceMean", ["sizes"], ["rough"], keepdims=0),
        helper.make_node("Sub", ["rough", "smooth"], ["more"]),
        helper.make_node("Sqrt", ["more"], ["root"]),
        helper.make_node("Mul", ["root", "nothing"], ["nought"]),
        helper.make_node("Add", ["nought", "one"], ["factor"]),
        helper.make_node("Mul", ["vector", "factor"], ["516"]),
    ]
    pixels = helper.make_tensor_value_info("input.1", TensorProto.FLOAT, [1, 3, 112, 112])
    out = helper.make_tensor_value_info("516", TensorProto.FLOAT, [1, DIMENSION])
    values = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "nan", [pixels], [out], values)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


def import_nan_pack(detector: Path, folder: Path, models: Path) -> None:
    """Imports it by the command line into a models folder, with the stand-in's detector."""
    data = embedder()
    offered = folder / "offered"
    offered.mkdir()
    (offered / detector.name).write_bytes(detector.read_bytes())
    (offered / "nan.onnx").write_bytes(data)
    text = MANIFEST.read_text()
    for old, new in (
        (f'name = "{PACK}"', f'name = "{NAME}"'),
        (f'id = "{PACK}"\nfile', 'id = "nan"\nfile'),
        ("w600k_mbf_dequantised_fp32.onnx", "nan.onnx"),
        ("13627991", str(len(data))),
        (
            "0b131e7eb46647ba981bce5004d2485da0dee8e70ba85d90803507c825f0d47e",
            hashlib.sha256(data).hexdigest(),
        ),
        ("shape = [-1, 3, 112, 112]", "shape = [1, 3, 112, 112]"),
    ):
        assert old in text
        text = text.replace(old, new)
    (offered / f"{NAME}.toml").write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EDGEFACED_MODELS_DIR", str(models))
        assert run(["models", "import", str(offered), "--pack", NAME, "--json"]) == 0
