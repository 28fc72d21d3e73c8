"""`edgefaced bench --device`: a board whose fake NPU computes with the pack's own ONNX; a CPU."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from compiled_pack import golden_file, picture
from fake_rknnlite import Board, install
from npu_rigs import npu
from stand_in_pack import PACK, import_stand_in

from edgefaced.benchmark.device import Conditions, DeviceFigures, Gauges, Window, measure_device
from edgefaced.benchmark.measure import Plan
from edgefaced.benchmark.quiet import Noise
from edgefaced.benchmark.spread import Spread
from edgefaced.cli.bench_device_report import (
    device_body,
    device_head,
    network_lines,
    verdict_lines,
    without_folders,
)
from edgefaced.cli.main import run
from edgefaced.config.sections import InferenceSection
from edgefaced.config.settings import Settings
from edgefaced.errors import SensorError
from edgefaced.inference.onnx import OnnxBackend
from edgefaced.models.catalogue import find_pack
from edgefaced.models.compiled import (
    CompiledModel,
    CompiledRecord,
    CostRecord,
    GoldenRecord,
    NeedsRecord,
    ProofFigures,
    TensorRecord,
)
from edgefaced.models.compiled_text import compiled_toml
from edgefaced.models.manifest import ModelSpec, PackManifest
from edgefaced.models.store import ModelStore
from edgefaced.sensors.npu import NpuReading
from edgefaced.sensors.thermal import ScriptedSensor
from edgefaced.types import FACE_SIDE_PX

SIDE = 320
BUSY = NpuReading({0: 0.6, 1: 0.3, 2: 0.0}, 10**9, "rknpu_ondemand", None)


@pytest.fixture(scope="module")
def models_dir(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return import_stand_in(shared_data, tmp_path_factory.mktemp("device"))


@pytest.fixture
def one_face(shared_data: Path) -> Path:
    return shared_data / "detect" / "rknn_retinaface_test.jpg"


@pytest.fixture
def places(own_places: Path, models_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EDGEFACED_MODELS_DIR", str(models_dir))
    return own_places


def compiled(spec: ModelSpec, network: OnnxBackend, side: int, folder: Path) -> CompiledModel:
    """A record of a network whose file is its name, proved by what the ONNX gives for noise."""
    image, data = picture(side), f"compiled {spec.id}".encode()
    outputs = dict(
        zip([o.name for o in network.outputs], network.run({"image": image}), strict=True)
    )
    golden = golden_file({"image": image, **outputs})
    names = f"{spec.id}.rknn", f"{spec.id}.npz"
    for name, content in zip(names, (data, golden), strict=True):
        (folder / name).write_bytes(content)
    return CompiledModel(
        id=spec.id,
        original_sha256=spec.sha256,
        target="rk3588",
        kind="rknn",
        precision="int8",
        width=side,
        height=side,
        file=names[0],
        size_bytes=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
        outputs=tuple(
            TensorRecord(name=name, shape=value.shape, dtype="int8")
            for name, value in outputs.items()
        ),
        needs=NeedsRecord(toolkit="2.5.0", runtime="2.3.0"),
        golden=GoldenRecord(
            file=names[1],
            size_bytes=len(golden),
            sha256=hashlib.sha256(golden).hexdigest(),
            lowest_cosine=0.99,
        ),
        proof=ProofFigures(pictures=0),
        cost=CostRecord(macs=200_000_000, moved_bytes=9_000_000, least_ms={"RK3588": 0.6}),
    )


@pytest.fixture
def board(
    models_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, places: Path
) -> Iterator[Board]:
    """An RK3588 that has the pack compiled, and computes it with onnxruntime."""
    store, pack = ModelStore(models_dir), find_pack(PACK, (models_dir / "packs",))
    folder = tmp_path / "compiled"
    folder.mkdir()
    networks: dict[bytes, Any] = {}
    models: list[CompiledModel] = []
    with ExitStack() as opened:
        for spec, side in zip(pack.model, (SIDE, FACE_SIDE_PX), strict=True):
            file = store.prepared(spec, side)
            network = OnnxBackend(file.data, threads=1, optimise=not file.optimised)
            opened.callback(network.close)
            models.append(compiled(spec, network, side, folder))
            networks[f"compiled {spec.id}".encode()] = lambda image, network=network: network.run(
                {"image": image}
            )
        record = CompiledRecord(compiled=1, pack=PACK, model=tuple(models))
        (folder / "compiled.toml").write_text(compiled_toml(record))
        assert run(["models", "import", str(folder)]) == 0
        yield install(monkeypatch, Board(networks))


def pack_of(models_dir: Path) -> PackManifest:
    return find_pack(PACK, (models_dir / "packs",))


def plan(models_dir: Path, one_face: Path) -> Plan:
    return Plan(pack_of(models_dir), (SIDE,), 3, 1, 5, 1, one_face, ())


@pytest.mark.usefixtures("board")
def test_a_board_tells_all_and_nothing_of_whose_it_is(
    models_dir: Path, one_face: Path, tmp_path: Path
) -> None:
    library = tmp_path / "librknnrt.so"
    library.write_bytes(b"no library")
    host = npu(library, runtime="2.3.0", driver="0.9.8")
    gauges = Gauges(ScriptedSensor([41.0, 58.0]), lambda: BUSY, lambda: {"ina226 in": 6.0})
    figures = measure_device(
        plan(models_dir, one_face), ModelStore(models_dir), Settings(), host, 0.0, gauges=gauges
    )
    detector, embedder = figures.networks
    assert (detector.serving.where, embedder.serving.where) == ("rk3588 core 0", "rk3588 core 1")
    assert detector.bytes_in == SIDE * SIDE * 3
    assert (detector.alone.n, figures.back_to_back.n) == (3, 3)
    assert detector.least_ms == {"RK3588": 0.6}
    assert (figures.before.celsius, figures.windows[-1].at_end.celsius) == (41.0, 58.0)
    assert device_head(figures).startswith("rk3588, 3 cores; librknnrt 2.3.0, driver 0.9.8")
    said = "\n".join([*network_lines(figures), *verdict_lines(figures)])
    assert "on rk3588 core 0, int8, pictures: copied, compiled by 2.5.0" in said
    assert "200 million MACs; at least, in int8 on one core, ms:\n    RK3588 0.60" in said
    assert "librknnrt.so cannot be loaded" in said, "why pictures are copied"
    assert "ina226 in: " in said
    assert "mJ a frame" in said
    body = json.dumps(device_body(figures))
    assert '"npu_loads": {"0": 0.6, "1": 0.3, "2": 0.0}' in body
    for text in (said, body):
        assert str(tmp_path.parent) not in text
        assert one_face.name not in text


def test_without_an_npu_that_is_said_and_the_cpu_measured(
    models_dir: Path, one_face: Path, places: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--pack", PACK, "--frames", "2", "--templates", "3", "--picture", str(one_face)]
    command = ["bench", "--device", "--minutes", "0", *options]
    capsys.readouterr()
    assert run(command) == 0
    said = capsys.readouterr().out
    assert "no NPU: measured on the CPU" in said
    assert "@320 on cpu, float32\n" in said
    assert "15 ms is the bar" in said
    assert str(places.parent) not in said
    assert run([*command, "--json"]) == 0
    device = json.loads(capsys.readouterr().out)["device"]
    assert device["npu"] is None
    assert [network["where"] for network in device["networks"]] == ["cpu", "cpu"]
    assert device["windows"][0]["frames"] >= 1
    assert run([*command, "--size", "320", "--size", "640"]) == 2
    assert "measures one --size" in capsys.readouterr().err


@pytest.mark.usefixtures("board")
def test_an_npu_that_is_not_used_is_no_npu_that_was_measured(
    models_dir: Path, one_face: Path
) -> None:
    settings = Settings(inference=InferenceSection(backend="onnx", fallback="cpu"))
    figures = measure_device(
        plan(models_dir, one_face),
        ModelStore(models_dir),
        settings,
        npu(None),
        0.0,
        gauges=Gauges(ScriptedSensor([SensorError("no zone")])),
    )
    assert device_head(figures) == "rk3588, 3 cores, is not used: measured on the CPU"
    assert figures.before.celsius is None
    assert [network.toolkit for network in figures.networks] == ["", ""]
    assert figures.networks[0].least_ms == {"RK3588": 0.6}, "a record of any target says it"


def windows(*rest_ms: float) -> tuple[Window, ...]:
    """Of two seconds and ten frames each, with 6 W at their ends."""
    networks, there = Spread(10, 9.0, 14.9), Conditions(50.0, None, {"meter": 6.0})
    return tuple(Window(2.0, 10, networks, Spread(10, 1.0, ms), networks, there) for ms in rest_ms)


def test_the_verdict_is_that_of_the_last_window_and_energy_that_of_all() -> None:
    before = Conditions(40.0, None, {})
    networks = Spread(10, 9.0, 14.9)
    figures = DeviceFigures(None, None, (), networks, before, windows(1.0, 5.1), Noise(0, 0, 0))  # type: ignore[arg-type]  # no network is looked at here
    assert (figures.networks_hold, figures.rest_holds) == (True, False)
    assert figures.joules_a_frame == {"meter": pytest.approx(1.2)}
    assert figures.windows[0].frames_per_second == 5


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("/home/ann/models/x.rknn: no", "x.rknn: no"),
        ("at /usr/lib/librknnrt.so, and 2/3", "at librknnrt.so, and 2/3"),
        ("nothing", "nothing"),
    ],
)
def test_folders_are_left_out(text: str, left: str) -> None:
    assert without_folders(text) == left
