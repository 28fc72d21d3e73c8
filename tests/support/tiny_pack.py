"""A whole pack of two real, tiny networks: a detector of one stride and an embedder."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
from archives import tarred
from onnx import TensorProto, helper, numpy_helper

SIZE = 32
STRIDE = 8
CELLS = (SIZE // STRIDE) ** 2
DIMENSION = 16


def detector(seed: int = 1) -> bytes:
    """One convolution of stride 8, then a score, a box and five landmarks for each cell."""
    random = np.random.default_rng(seed)
    nodes, values, outputs = [], [], []
    for name, channels in (("score", 1), ("box", 4), ("landmarks", 10)):
        weight = random.normal(0, 0.05, (channels, 3, STRIDE, STRIDE)).astype(np.float32)
        values.append(numpy_helper.from_array(weight, f"{name}_weight"))
        shape = np.array([-1, channels], np.int64)
        values.append(numpy_helper.from_array(shape, f"{name}_shape"))
        nodes += [
            helper.make_node(
                "Conv",
                ["pixels", f"{name}_weight"],
                [f"{name}_map"],
                kernel_shape=[STRIDE, STRIDE],
                strides=[STRIDE, STRIDE],
            ),
            helper.make_node("Transpose", [f"{name}_map"], [f"{name}_last"], perm=[0, 2, 3, 1]),
            helper.make_node("Reshape", [f"{name}_last", f"{name}_shape"], [f"{name}_rows"]),
            helper.make_node("Sigmoid", [f"{name}_rows"], [name]),
        ]
        outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [CELLS, channels]))
    return _model(nodes, values, [1, 3, SIZE, SIZE], outputs)


def embedder(seed: int = 2) -> bytes:
    """A convolution, a mean over the picture and a matrix."""
    random = np.random.default_rng(seed)
    values = [
        numpy_helper.from_array(random.normal(0, 1, shape).astype(np.float32), name)
        for name, shape in (("kernel", (8, 3, 3, 3)), ("matrix", (8, DIMENSION)))
    ]
    nodes = [
        helper.make_node("Conv", ["pixels", "kernel"], ["maps"], kernel_shape=[3, 3]),
        helper.make_node("GlobalAveragePool", ["maps"], ["means"]),
        helper.make_node("Flatten", ["means"], ["row"]),
        helper.make_node("MatMul", ["row", "matrix"], ["vector"]),
    ]
    out = helper.make_tensor_value_info("vector", TensorProto.FLOAT, [1, DIMENSION])
    return _model(nodes, values, [1, 3, 112, 112], [out])


def _model(
    nodes: list[onnx.NodeProto],
    values: list[onnx.TensorProto],
    shape: list[int],
    outputs: list[onnx.ValueInfoProto],
) -> bytes:
    given = helper.make_tensor_value_info("pixels", TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "tiny", [given], outputs, values)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return bytes(model.SerializeToString())


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True)
class TinyPack:
    """The pack's bytes, and its manifest with whatever sources a test wants."""

    name: str = "tiny"
    detector: bytes = field(default_factory=detector)
    embedder: bytes = field(default_factory=embedder)
    notice: str = "not for doors"
    sources: str = ""
    """TOML lines of the one source of both networks; `{member}` is the network's file."""

    @property
    def files(self) -> dict[str, bytes]:
        return {"detector.onnx": self.detector, "embedder.onnx": self.embedder}

    @property
    def sdist(self) -> bytes:
        return tarred({f"tiny-1.0/{name}": data for name, data in self.files.items()})

    @property
    def manifest(self) -> str:
        return f"""
manifest = 1
name = "{self.name}"
summary = "Two tiny networks"
notice = "{self.notice}"

[[model]]
role = "detector"
id = "tiny-detector"
{self._file("detector.onnx")}
licence = "nobody's"
commercial_use = false
output = [
  {{ name = "score", shape = [-1, 1] }},
  {{ name = "box", shape = [-1, 4] }},
  {{ name = "landmarks", shape = [-1, 10] }},
]
[model.input]
name = "pixels"
shape = [1, 3, {SIZE}, {SIZE}]
layout = "NCHW"
colour_order = "RGB"
mean = [127.5, 127.5, 127.5]
std = [128.0, 128.0, 128.0]
sizes = [{SIZE}]
[model.decoder]
kind = "scrfd"
strides = [{STRIDE}]
anchors = 1
scores = ["score"]
boxes = ["box"]
landmarks = ["landmarks"]
score_threshold = 0.5
nms_iou = 0.4
{self._source("detector.onnx")}

[[model]]
role = "embedder"
id = "tiny-embedder"
{self._file("embedder.onnx")}
licence = "MIT"
commercial_use = true
output = [{{ name = "vector", shape = [1, {DIMENSION}] }}]
[model.input]
name = "pixels"
shape = [1, 3, 112, 112]
layout = "NCHW"
colour_order = "RGB"
mean = [0.0, 0.0, 0.0]
std = [255.0, 255.0, 255.0]
[model.embedding]
id = "tiny-embedder"
dimension = {DIMENSION}
output = "vector"
{self._source("embedder.onnx")}
"""

    def _file(self, name: str) -> str:
        data = self.files[name]
        return f'file = "{name}"\nsize_bytes = {len(data)}\nsha256 = "{digest(data)}"'

    def _source(self, name: str) -> str:
        if not self.sources:
            return "[[model.source]]\n" + self.pypi(f"tiny-1.0/{name}")
        return "[[model.source]]\n" + self.sources.format(member=name)

    def pypi(self, member: str) -> str:
        return (
            f'kind = "pypi"\nproject = "tiny"\nfile = "tiny-1.0.tar.gz"\n'
            f'sha256 = "{digest(self.sdist)}"\nmember = "{member}"'
        )

    def write_manifest(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}.toml"
        path.write_text(self.manifest)
        return path

    def write_files(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in self.files.items():
            (folder / name).write_bytes(data)
        return folder
