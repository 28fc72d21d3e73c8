"""A small real network all the way: calibrated, quantised for a CPU, proved, ready to be packed."""

from __future__ import annotations

import io

import numpy as np
import pytest
import tiny_pack
from edgefaced_convert.calset import CalibrationSet, Part, Sample
from edgefaced_convert.conditions import Figures
from edgefaced_convert.conversion import Converted, Task, convert_network, fed_pictures
from edgefaced_convert.golden import drawn_picture
from edgefaced_convert.packs import PackNetwork
from edgefaced_convert.statistics import statistics_of
from edgefaced_convert.toolchain import ConvertError
from networks import embedder_spec

from edgefaced.inference.onnx import OnnxBackend
from edgefaced.models.manifest import EmbeddingSpec

FIGURES = Figures(140, 45, 120, 30, 0.15, 0.0, 0.0)


def task() -> Task:
    data = tiny_pack.embedder()
    spec = embedder_spec(data).model_copy(
        update={
            "embedding": EmbeddingSpec(id="tiny", dimension=tiny_pack.DIMENSION, output="vector")
        }
    )
    network = PackNetwork("tiny", spec, data, 112)
    draw = np.random.default_rng(0)
    faces = tuple(
        Sample(draw.integers(0, 256, (112, 112, 3), dtype=np.uint8), part, FIGURES)
        for part in (*[Part.CALIBRATE] * 8, *[Part.HELD_OUT] * 4)
    )
    calibration = CalibrationSet("tests", "", "2026-01-01", faces, (), statistics_of([FIGURES]))
    pictures = fed_pictures(network, calibration, 6)
    assert len(pictures) == 6
    return Task(network, calibration, drawn_picture(112), (), None, pictures, threads=1)


def test_a_network_is_converted_and_proved_for_a_cpu() -> None:
    made = task()
    (one,) = convert_network(made, ("cpu",), "int8", lambda line: None)
    assert isinstance(one, Converted)
    data, golden = one.members
    model = one.model
    assert (model.target, model.kind, model.precision) == ("cpu", "onnx", "int8")
    assert (model.sha256, model.size_bytes) == (data.sha256, len(data.data))
    assert one.verdict.embedder is not None
    assert one.verdict.embedder.faces == 4
    assert one.verdict.embedder.mean_cosine > 0.99
    backend = OnnxBackend(data.data, threads=1, optimise=True)
    try:
        with np.load(io.BytesIO(golden.data)) as pair:
            (answer,) = backend.run({"image": pair["image"]})
            np.testing.assert_allclose(answer, pair["vector"], rtol=1e-5)
    finally:
        backend.close()


def test_a_cpu_is_not_converted_for_in_fp16() -> None:
    with pytest.raises(ConvertError, match="gains nothing"):
        next(convert_network(task(), ("cpu",), "fp16", lambda line: None))
