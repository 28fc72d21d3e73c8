from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from networks import network, normal
from onnx import helper

from edgefaced.errors import ModelError
from edgefaced.inference.onnx import OnnxBackend, one_line, session_options, waiting

RELU = [helper.make_node("Relu", ["x"], ["y"])]


def test_a_file_that_is_no_network_is_one_line() -> None:
    with pytest.raises(ModelError, match="cannot load the network") as raised:
        OnnxBackend(b"not a network", threads=1, optimise=True)
    assert "\n" not in str(raised.value)
    assert "edgefaced models verify" in raised.value.hint


def test_a_cut_off_file_is_an_error() -> None:
    conv = [helper.make_node("Conv", ["x", "w"], ["y"])]
    whole = network(conv, {"w": normal(8, 3, 3, 3)}, {"x": [1, 3, 8, 8]}, {"y": [1, 8, 6, 6]})
    with pytest.raises(ModelError, match="cannot load"):
        OnnxBackend(whole[: len(whole) // 2], threads=1, optimise=True)


def test_an_unknown_operator_is_an_error() -> None:
    made_up = network([helper.make_node("Frobnicate", ["x"], ["y"])], {}, {"x": [1]}, {"y": [1]})
    with pytest.raises(ModelError, match="Frobnicate"):
        OnnxBackend(made_up, threads=1, optimise=True)


def test_a_free_size_may_differ_from_run_to_run() -> None:
    free = network(RELU, {}, {"x": ["rows", 3]}, {"y": ["rows", 3]})
    backend = OnnxBackend(free, threads=1, optimise=True)
    assert [spec.shape for spec in (*backend.inputs, *backend.outputs)] == [(-1, 3), (-1, 3)]
    for rows in (1, 4, 2):
        (given,) = backend.run({"x": np.full((rows, 3), -1, np.float32)})
        assert given.shape == (rows, 3)
    for shape in ((2, 4), (0, 3), (3,)):
        with pytest.raises(ModelError, match="the network takes"):
            backend.run({"x": np.zeros(shape, np.float32)})


def test_a_network_of_another_type_was_not_prepared() -> None:
    cast = [helper.make_node("Cast", ["x"], ["y"], to=7)]
    proto = network(cast, {}, {"x": [1, 3]}, {})
    import onnx

    model = onnx.load_model_from_string(proto)
    model.graph.output.append(helper.make_tensor_value_info("y", onnx.TensorProto.INT64, [1, 3]))
    with pytest.raises(ModelError, match="output 'y'"):
        OnnxBackend(model.SerializeToString(), threads=1, optimise=True)


def test_a_failure_while_running_is_one_line() -> None:
    """The graph says 2 x 3, and what it computes depends on values that do not fit that."""
    nodes = [
        helper.make_node("Cast", ["x"], ["target"], to=7),
        helper.make_node("Reshape", ["x", "target"], ["y"]),
    ]
    model = network(nodes, {}, {"x": [2]}, {"y": [1, 2]})
    backend = OnnxBackend(model, threads=1, optimise=True)
    assert backend.run({"x": np.array([1, 2], np.float32)})[0].shape == (1, 2)
    with pytest.raises(ModelError, match="the network failed") as raised:
        backend.run({"x": np.array([7, 9], np.float32)})
    assert "\n" not in str(raised.value)


def test_sessions_wait_as_measured_and_do_not_plan_their_memory_ahead() -> None:
    options = session_options(3, optimise=False)
    for key, value in waiting(onnxruntime.__version__).items():
        assert options.get_session_config_entry(key) == value
    assert options.intra_op_num_threads == 3
    assert options.inter_op_num_threads == 1
    assert not options.enable_mem_pattern


def test_optimised_and_plain_sessions_agree() -> None:
    conv = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["y"]),
    ]
    model = network(conv, {"w": normal(16, 3, 3, 3)}, {"x": [1, 3, 8, 8]}, {"y": [1, 16, 8, 8]})
    x = normal(1, 3, 8, 8, seed=1)
    given = [OnnxBackend(model, threads=1, optimise=o).run({"x": x})[0] for o in (True, False)]
    np.testing.assert_allclose(given[0], given[1], atol=1e-5)


def test_one_line_is_one_short_line() -> None:
    said = one_line(ValueError("[ONNXRuntimeError] : 2 : bad\n\n   thing " + "x" * 1000))
    assert said.startswith("2 : bad thing xx")
    assert len(said) == 300


@pytest.mark.parametrize("version", ["1.20.1", "1.25.0"])
def test_threads_sleep_where_they_could_only_spin_long(version: str) -> None:
    assert waiting(version) == {"session.intra_op.allow_spinning": "0"}


@pytest.mark.parametrize("version", ["1.26.0", "1.32.0.dev20261001", "2.0.0"])
def test_threads_spin_briefly_and_only_while_a_network_runs(version: str) -> None:
    entries = waiting(version)
    assert 0 < int(entries["session.intra_op.spin_duration_us"]) <= 50
    assert entries["session.force_spinning_stop"] == "1"
