"""The figures of a proof and their bars; costs from a graph; the toolkit where it is installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from edgefaced_convert.capture import captured
from edgefaced_convert.cli import main
from edgefaced_convert.cost import LayerCost, costs_of
from edgefaced_convert.figures import DetectorFigures, EmbedderFigures, LfwFigures
from edgefaced_convert.judging import Verdict
from edgefaced_convert.operators import read_network
from edgefaced_convert.proof_detector import Scene, compare_detectors, matched, overlap
from edgefaced_convert.proof_embedder import cosines
from edgefaced_convert.roofline import BOARDS, Board, seconds_on
from edgefaced_convert.scenes import parse_marks
from edgefaced_convert.toolchain import ConvertError, checked

from edgefaced.models.prepare.graph import Graph, Node, Value
from edgefaced.models.prepare.onnx_file import write_graph
from edgefaced.types import Box, FaceDetection, Frame, PixelFormat

MARKS = """<dataset><images>
  <image file='a.jpg' width='500' height='332'>
    <box top='10' left='20' width='30' height='40'/>
    <box top='0' left='0' width='9' height='9' ignore='1'/>
  </image>
  <image file='b.jpg'></image>
</images></dataset>"""


def box(left: float, top: float, side: float = 100) -> Box:
    return Box(left, top, left + side, top + side)


def face(at: Box, moved: float = 0.0) -> FaceDetection:
    landmarks = np.array([[30, 40], [70, 40], [50, 60], [35, 80], [65, 80]], np.float32)
    return FaceDetection(at, landmarks + np.float32(at.left) + np.float32(moved), 0.9)


class Seeing:
    """A detector that always sees the same."""

    def __init__(self, *faces: FaceDetection) -> None:
        self.faces = list(faces)

    def detect(self, frame: Frame) -> list[FaceDetection]:
        return self.faces

    def bytes_copied(self, frame: Frame) -> int:
        return 0


def test_faces_are_matched_each_once() -> None:
    assert overlap(box(0, 0), box(0, 0)) == 1
    assert overlap(box(0, 0), box(200, 0)) == 0
    first, second = [box(0, 0), box(10, 0)], [box(10, 0), box(300, 0)]
    assert matched(first, second) == {1: 0}


def test_a_lost_face_and_moved_landmarks_are_figures() -> None:
    pixels = np.zeros((400, 400, 3), np.uint8)
    scene = Scene(Frame(0, 0, pixels, PixelFormat.BGR), (box(0, 0), box(200, 200)))
    before = Seeing(face(box(0, 0)), face(box(200, 200)))
    after = Seeing(face(box(0, 0), moved=3.0))
    found = compare_detectors(before, after, [scene])
    assert (found.faces_float, found.faces, found.lost, found.known) == (2, 1, 1, 2)
    assert (found.recall_float, found.recall) == (1.0, 0.5)
    assert found.landmark_error == pytest.approx(np.hypot(3, 3) / 100)
    assert "landmarks" in found.fault
    assert compare_detectors(before, before, [scene]).fault == ""


@pytest.mark.parametrize(
    ("mean", "words"), [(0.995, ""), (0.97, "quantise mixed"), (0.9, "mixed precision or QAT")]
)
def test_an_embedders_bars(mean: float, words: str) -> None:
    fault = EmbedderFigures(100, mean, mean, mean).fault
    assert words in fault
    assert bool(fault) == bool(words)


def test_other_bars() -> None:
    assert LfwFigures(1200, 0.990, 0.992, 1, 1).fault == ""
    assert "LFW" in LfwFigures(1200, 0.987, 0.992, 1, 1).fault
    assert DetectorFigures(10, 99, 100, 1, 1, 0.01).fault == ""
    assert "2 of 20" in DetectorFigures(10, 18, 20, 2, 1, 0.01).fault
    assert DetectorFigures(10, 98, 100, 2, 1, 0.01).fault == ""
    assert "2 of 100" in DetectorFigures(10, 98, 100, 2, 1, 0.01).strict_fault
    assert "landmarks" in DetectorFigures(10, 20, 20, 0, 1, float("inf")).fault


def test_cosines_and_the_record_of_a_proof() -> None:
    rows = np.eye(4, dtype=np.float32)
    turned = rows.copy()
    turned[0] = [0.6, 0.8, 0, 0]
    found = cosines(rows, turned)
    assert found.mean_cosine == pytest.approx(0.9)
    assert found.lowest == pytest.approx(0.6)
    record = Verdict(embedder=found, lfw=LfwFigures(1200, 0.99, 0.992, 1, 1)).record()
    assert (record.pictures, record.lfw_pairs) == (4, 1200)
    unmarked = Verdict(detector=DetectorFigures(10, 9, 10, 1, 1, 0.01)).record()
    assert (unmarked.recall, unmarked.recall_float) == (0.9, 1.0)
    marked = Verdict(detector=DetectorFigures(10, 9, 10, 1, 1, 0.01, 20, 0.5, 0.55)).record()
    assert (marked.recall, marked.recall_float) == (0.5, 0.55)


def test_marks_of_imglab_are_read() -> None:
    assert parse_marks(MARKS) == {"a.jpg": (Box(20, 10, 50, 50),), "b.jpg": ()}


def counted() -> bytes:
    """A convolution of 8x8x3 to 8x8x16 by 3x3 and a fully connected layer to 10."""
    draw = np.random.default_rng(0)
    graph = Graph(
        13,
        [Value("x", (1, 3, 8, 8), np.dtype(np.float32))],
        [Value("y", (1, 10), np.dtype(np.float32))],
        [
            Node("Conv", ["x", "w", "b"], ["c"], {"kernel_shape": [3, 3], "pads": [1] * 4}),
            Node("Relu", ["c"], ["r"]),
            Node("Flatten", ["r"], ["f"]),
            Node("Gemm", ["f", "g"], ["y"]),
        ],
        {
            "w": draw.standard_normal((16, 3, 3, 3)).astype(np.float32),
            "b": np.zeros(16, np.float32),
            "g": draw.standard_normal((1024, 10)).astype(np.float32),
        },
    )
    return write_graph(graph)


def test_costs_are_counted_from_the_graph() -> None:
    layers = {layer.kind: layer for layer in costs_of(read_network(counted(), "n", None))}
    assert layers["Conv"].macs == 8 * 8 * 16 * 27
    assert layers["Conv"].parameters == 16 * 27 + 16
    assert layers["Conv"].moved_bytes == 3 * 64 + 16 * 64 + 16 * 27 + 16
    assert layers["Gemm"].macs == 1024 * 10
    assert layers["Relu"].moved_bytes == layers["Flatten"].moved_bytes == 0


def test_the_roofline_is_the_slower_of_two() -> None:
    board = Board("b", 1.0, 1, 2.0, "")
    arithmetic = LayerCost("a", "Conv", 10**12 // 2, 0, 1)
    memory = LayerCost("m", "Conv", 1, 0, 10**9)
    assert seconds_on(board, [arithmetic]) == pytest.approx(1)
    assert seconds_on(board, [arithmetic, memory]) == pytest.approx(2)


def test_the_cost_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "n.onnx"
    path.write_bytes(counted())
    with pytest.raises(SystemExit) as exit_info:
        main(["cost", str(path), "--json"])
    assert exit_info.value.code == 0
    document = json.loads(capsys.readouterr().out)
    assert document["networks"][0]["macs"] == 8 * 8 * 16 * 27 + 10240
    assert set(document["boards"]) == {board.name for board in BOARDS}


def test_what_compiled_code_prints_is_kept() -> None:
    with captured() as printed:
        os.write(1, b"from below\n")
    assert printed.text == "from below\n"


@pytest.mark.parametrize("code", [-1, None])
def test_a_return_code_is_an_error(code: int | None) -> None:
    def call() -> int | None:
        os.write(2, b"E build: Softmax is too large\n")
        return code

    with pytest.raises(ConvertError, match="Softmax is too large"):
        checked("build", call)
    assert checked("build", lambda: 0) == (0, "")


def test_an_exception_of_the_toolkit_is_our_one_line() -> None:
    def call() -> int:
        raise ValueError("Traceback\n  deep inside\nthe reason")

    with pytest.raises(ConvertError, match="the reason"):
        checked("build", call)


@pytest.mark.skipif(find_spec("rknn") is None, reason="rknn-toolkit2 is not installed: setup.sh")
def test_the_toolkit_compiles_a_small_network(tmp_path: Path) -> None:
    path = tmp_path / "n.onnx"
    path.write_bytes(counted())
    # A process of its own: the toolkit leaves threads, and warnings that are errors here stop it.
    command = [sys.executable, "-W", "ignore", "-m", "edgefaced_convert"]
    done = subprocess.run(
        [*command, "report", str(path), "--target", "rk3588", "--build", "--json"],
        check=False,
        capture_output=True,
    )
    assert json.loads(done.stdout)["reports"][0]["toolkit"]["layers"] > 0
