"""What runs a network: settings, board and imports decide; falling back is decided and told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import onnxruntime as ort
import pytest
from compiled_pack import Compiled, Conversion, compiled_detector, compiled_embedder, picture
from fake_rknnlite import Board, Network, install
from installation import Installation
from npu_rigs import npu
from numpy.typing import NDArray
from tiny_pack import SIZE, TinyPack

from edgefaced.assembly import parts_of
from edgefaced.config.places import places_of_this_process
from edgefaced.config.sections import InferenceSection
from edgefaced.config.settings import Settings
from edgefaced.errors import ConfigError, DependencyMissing, ModelDamaged, ModelError, ModelMissing
from edgefaced.events import Event, Trouble
from edgefaced.inference.cores import core_mask, cores_of
from edgefaced.inference.onnx import OnnxBackend
from edgefaced.inference.rockchip import Npu
from edgefaced.inference.serving import CAMERA_BUFFER, NPU_MEMORY, Register, Serving
from edgefaced.models.bring_in import bring_in
from edgefaced.models.manifest import ModelSpec, PackManifest
from edgefaced.models.store import LoadableModel, ModelStore
from edgefaced.pipeline.line import Line
from edgefaced.pipeline.tap import FaceTap
from edgefaced.protocols import Delivery, SinkPlan
from edgefaced.recognition.choose import Means, check_network, has_network, on_cpu, open_network
from edgefaced.types import FACE_SIDE_PX, Role

PLAIN = {"zero_copy": "off"}


@pytest.fixture
def host(tmp_path: Path) -> Npu:
    library = tmp_path / "librknnrt.so"
    library.write_bytes(b"no library that could be loaded")
    return npu(library)


@pytest.fixture
def here(tmp_path: Path) -> Installation:
    return Installation(tmp_path)


@pytest.fixture
def pack(here: Installation) -> PackManifest:
    tiny = TinyPack()
    manifest = here.know(tiny)
    here.pull(manifest)
    return manifest


@pytest.fixture
def networks() -> tuple[Compiled, Compiled]:
    tiny = TinyPack()
    return compiled_detector(tiny), compiled_embedder(tiny)


@pytest.fixture
def board(monkeypatch: pytest.MonkeyPatch, networks: tuple[Compiled, ...]) -> Board:
    return install(monkeypatch, Board({n.data: giving(n) for n in networks}))


def giving(network: Compiled) -> Network:
    answer = list(network.outputs.values())
    return lambda image: answer


def bring(here: Installation, folder: Path, *networks: Compiled) -> None:
    bring_in(Conversion(networks).write(folder), None, here.store, here.workshop, here.told)


def means(told: list[Serving], host: Npu | None, **keys: Any) -> Means:
    return Means(InferenceSection.model_validate(keys), host, told.append)


def opened(here: Installation, spec: ModelSpec, size: int, means: Means) -> NDArray[Any]:
    """One run of what was opened."""
    backend = open_network(here.store, spec, size, 1, means)
    try:
        return np.asarray(backend.run({"image": picture(size)})[0])
    finally:
        backend.close()


def test_a_board_with_a_compiled_pack_uses_its_npu(
    here: Installation,
    pack: PackManifest,
    networks: tuple[Compiled, Compiled],
    board: Board,
    host: Npu,
    tmp_path: Path,
) -> None:
    bring(here, tmp_path / "stick", *networks)
    told: list[Serving] = []
    how = means(told, host, **PLAIN)
    detector, embedder = pack.model
    score = opened(here, detector, SIZE, how)
    np.testing.assert_array_equal(score, networks[0].outputs["score"])
    opened(here, embedder, FACE_SIDE_PX, how)
    assert [(s.backend, s.where, s.precision, s.fallback) for s in told] == [
        ("rknn", "rk3588 core 0", "int8", ""),
        ("rknn", "rk3588 core 1", "int8", ""),
    ]
    assert told[0].cosine == pytest.approx(1)
    assert (told[0].memory, told[0].remark) == ("copied", "inference.zero_copy is off")


def test_a_network_is_read_once(
    here: Installation, pack: PackManifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    prepared = ModelStore.prepared

    def noted(
        store: ModelStore, spec: ModelSpec, size: int, *, portable: bool = False
    ) -> LoadableModel:
        read.append(spec.id)
        return prepared(store, spec, size, portable=portable)

    monkeypatch.setattr(ModelStore, "prepared", noted)
    opened(here, pack.model[0], SIZE, means([], None))
    assert read == [pack.model[0].id], "twice would be 38 MB more for SFace"


def test_why_memory_is_not_direct_is_told(
    here: Installation,
    pack: PackManifest,
    networks: tuple[Compiled, Compiled],
    board: Board,
    host: Npu,
    tmp_path: Path,
) -> None:
    bring(here, tmp_path / "stick", *networks)
    told: list[Serving] = []
    opened(here, pack.model[0], SIZE, means(told, host))
    assert told[0].memory == "copied"
    assert "librknnrt.so cannot be loaded" in told[0].remark


@pytest.mark.parametrize(
    "keys", [{}, {"backend": "onnx"}], ids=["nothing compiled", "the CPU is asked for"]
)
def test_otherwise_the_cpu_is_meant_and_nothing_fell(
    here: Installation,
    pack: PackManifest,
    networks: tuple[Compiled, Compiled],
    board: Board,
    host: Npu,
    tmp_path: Path,
    keys: dict[str, str],
) -> None:
    if keys:
        bring(here, tmp_path / "stick", *networks)
    told: list[Serving] = []
    opened(here, pack.model[0], SIZE, means(told, host, **keys))
    assert [(s.where, s.precision, s.fallback) for s in told] == [("cpu", "float32", "")]
    assert board.calls == []


def break_board(board: Board) -> None:
    board.refuses_contexts = True


def miscount(board: Board) -> None:
    def zeros(network: Network) -> Network:
        return lambda image: [np.zeros_like(value) for value in network(image)]

    board.networks = {data: zeros(network) for data, network in board.networks.items()}


@pytest.mark.parametrize(
    ("harm", "said"),
    [(break_board, "the NPU does not take it"), (miscount, "fails its self-test")],
)
@pytest.mark.parametrize("fallback", ["refuse", "cpu"])
def test_an_npu_that_does_not_work_is_refused_or_told(
    here: Installation,
    pack: PackManifest,
    networks: tuple[Compiled, Compiled],
    board: Board,
    host: Npu,
    tmp_path: Path,
    harm: Callable[[Board], None],
    said: str,
    fallback: str,
) -> None:
    bring(here, tmp_path / "stick", *networks)
    harm(board)
    told: list[Serving] = []
    how = means(told, host, fallback=fallback, **PLAIN)
    if fallback == "refuse":
        with pytest.raises(ModelError, match=said) as refused:
            opened(here, pack.model[0], SIZE, how)
        assert 'inference.fallback = "cpu" serves from the CPU instead' in refused.value.hint
        assert told == []
    else:
        score = opened(here, pack.model[0], SIZE, how)
        assert not np.array_equal(score, networks[0].outputs["score"]), "the CPU's own"
        assert told[0].where == "cpu"
        assert said in told[0].fallback
    assert board.open_masks == [], "no context is left"


def test_rknn_without_such_a_board_is_refused(here: Installation, pack: PackManifest) -> None:
    how = means([], None, backend="rknn")
    for act in (open_for(here, pack, how), lambda: check(here, pack, how)):
        with pytest.raises(ModelError, match="this board has no NPU of Rockchip's"):
            act()


def open_for(here: Installation, pack: PackManifest, how: Means) -> Callable[[], object]:
    return lambda: opened(here, pack.model[0], SIZE, how)


def check(here: Installation, pack: PackManifest, how: Means) -> None:
    check_network(here.store, pack.model[0], SIZE, how)


def test_a_size_that_is_not_compiled_is_no_reason_to_use_the_cpu_silently(
    here: Installation,
    pack: PackManifest,
    networks: tuple[Compiled, Compiled],
    board: Board,
    host: Npu,
    tmp_path: Path,
) -> None:
    bring(here, tmp_path / "stick", compiled_detector(TinyPack(), 64))
    how = means([], host)
    with pytest.raises(ModelMissing, match="at 32x32; there is 64"):
        check(here, pack, how)
    assert not has_network(here.store, pack.model[0], 32, how)
    assert has_network(here.store, pack.model[0], 64, how)
    check(here, pack, means([], host, fallback="cpu"))
    check(here, pack, on_cpu(how))


@pytest.mark.parametrize("fallback", ["refuse", "cpu"])
def test_a_damaged_record_is_no_reason_to_use_the_cpu_silently(
    here: Installation,
    pack: PackManifest,
    networks: tuple[Compiled, Compiled],
    board: Board,
    host: Npu,
    tmp_path: Path,
    fallback: str,
) -> None:
    bring(here, tmp_path / "stick", *networks)
    spec = pack.model[0]
    (here.store.layout.compiled(spec.sha256) / "rk3588" / "32.json").write_text("{")
    told: list[Serving] = []
    how = means(told, host, fallback=fallback)
    if fallback == "refuse":
        with pytest.raises(ModelDamaged, match=r"32\.json"):
            opened(here, spec, SIZE, how)
    else:
        opened(here, spec, SIZE, how)
        assert "32.json" in told[0].fallback


def quantised(here: Installation, spec: ModelSpec, network: Compiled) -> Compiled:
    """A file for the CPU that really runs, with what it gives."""
    data = here.store.prepared(spec, network.side, portable=True).data
    backend = OnnxBackend(data, threads=1, optimise=True)
    names = [output.name for output in backend.outputs]
    answers = backend.run({"image": network.image})
    backend.close()
    outputs = dict(zip(names, answers, strict=True))
    return replace(network, data=data, kind="onnx", target="cpu", outputs=outputs, runtime="1.20")


def test_a_quantised_network_may_need_a_newer_onnxruntime(
    here: Installation, pack: PackManifest, networks: tuple[Compiled, Compiled], tmp_path: Path
) -> None:
    newer = replace(quantised(here, pack.model[1], networks[1]), runtime="99.1")
    bring(here, tmp_path / "stick", newer)
    with pytest.raises(ModelError, match=r"is older than tiny-embedder for the CPU needs: 99\.1"):
        opened(here, pack.model[1], FACE_SIDE_PX, means([], None))


def test_a_quantised_network_for_the_cpu_is_proved_and_used(
    here: Installation, pack: PackManifest, networks: tuple[Compiled, Compiled], tmp_path: Path
) -> None:
    bring(here, tmp_path / "stick", quantised(here, pack.model[1], networks[1]))
    told: list[Serving] = []
    opened(here, pack.model[1], FACE_SIDE_PX, means(told, None))
    opened(here, pack.model[1], FACE_SIDE_PX, means(told, None, precision="float"))
    assert [s.precision for s in told] == ["int8", "float32"]
    assert told[0].cosine == pytest.approx(1)


def test_a_quantised_network_that_gives_something_else_does_not_serve(
    here: Installation, pack: PackManifest, networks: tuple[Compiled, Compiled], tmp_path: Path
) -> None:
    right = quantised(here, pack.model[1], networks[1])
    bring(here, tmp_path / "stick", replace(right, outputs={"vector": -right.outputs["vector"]}))
    with pytest.raises(ModelError, match="fails its self-test"):
        opened(here, pack.model[1], FACE_SIDE_PX, means([], None))
    told: list[Serving] = []
    opened(here, pack.model[1], FACE_SIDE_PX, means(told, None, fallback="cpu"))
    assert "fails its self-test" in told[0].fallback


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("qnn", "onnxruntime-qnn"),
        ("tensorrt", "onnxruntime-gpu"),
        ("cuda", "onnxruntime-gpu"),
        ("vsinpu", "--use_vsinpu"),
    ],
)
def test_a_provider_that_is_absent_is_said_with_its_package(
    here: Installation, pack: PackManifest, name: str, package: str
) -> None:
    with pytest.raises(DependencyMissing, match=r"has no \w+ExecutionProvider") as missing:
        opened(here, pack.model[0], SIZE, means([], None, providers=(name,)))
    assert package in missing.value.hint
    told: list[Serving] = []
    opened(here, pack.model[0], SIZE, means(told, None, providers=(name,), fallback="cpu"))
    assert "ExecutionProvider" in told[0].fallback


def test_openvino_gives_what_the_cpu_gives(here: Installation, pack: PackManifest) -> None:
    if "OpenVINOExecutionProvider" not in ort.get_available_providers():
        pytest.skip("this onnxruntime has no OpenVINO: it comes with onnxruntime-openvino")
    told: list[Serving] = []
    for spec, size in zip(pack.model, (SIZE, FACE_SIDE_PX), strict=True):
        there = opened(here, spec, size, means(told, None, providers=("openvino",)))
        on_the_cpu = opened(here, spec, size, means([], None))
        np.testing.assert_allclose(there, on_the_cpu, atol=1e-4)
    assert [s.where for s in told] == ["openvino", "openvino"]
    assert all(s.cosine is not None and s.cosine > 0.999 for s in told)


@pytest.mark.parametrize(
    ("cores", "role", "wished", "mask"),
    [
        (3, Role.DETECTOR, None, 1),
        (3, Role.EMBEDDER, None, 2),
        (2, Role.EMBEDDER, None, 2),
        (1, Role.DETECTOR, None, 0),
        (1, Role.EMBEDDER, (0,), 0),
        (3, Role.DETECTOR, (2,), 4),
        (3, Role.DETECTOR, (0, 1), 3),
        (3, Role.DETECTOR, (1, 0, 2), 7),
    ],
)
def test_each_network_has_cores(
    cores: int, role: Role, wished: tuple[int, ...] | None, mask: int
) -> None:
    assert core_mask(npu(None, cores=cores), role, wished) == mask


@pytest.mark.parametrize(
    ("cores", "wished", "said"),
    [
        (1, (1,), r"inference.detector_cores = \[1\]: rk3588 has core 0 alone"),
        (2, (2,), "no such cores together"),
        (3, (0, 2), "no such cores together"),
        (3, (), "no such cores together"),
    ],
)
def test_cores_that_there_are_not_are_refused(
    cores: int, wished: tuple[int, ...], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        core_mask(npu(None, cores=cores), Role.DETECTOR, wished)
    assert cores_of(5) == [0, 2]


def test_a_register_tells_what_fell_back_before_and_after_it_is_listened_to() -> None:
    register = Register()
    heard: list[str] = []
    register.report(Serving("a", 32, "onnx", "cpu", "float32", fallback="why"))
    register.report(Serving("b", 112, "rknn", "rk3588 core 1", "int8"))
    register.connect(heard.append)
    register.report(Serving("c", 32, "onnx", "cpu", "float32", fallback="why"))
    assert heard == ["a runs on the CPU: why", "c runs on the CPU: why"]
    assert [s.network for s in register.snapshot()] == ["a", "b", "c"]


def test_a_register_knows_where_pictures_are_read_now() -> None:
    register = Register()
    register.report(Serving("a", 32, "rknn", "rk3588 core 0", "int8", NPU_MEMORY))
    register.placed("a", 32, CAMERA_BUFFER, "")
    (serving,) = register.snapshot()
    assert (serving.where, serving.memory) == ("rk3588 core 0", "camera buffer")


@pytest.mark.parametrize("works", [True, False])
def test_a_line_looks_with_the_npu_or_says_why_not(
    here: Installation,
    pack: PackManifest,
    networks: tuple[Compiled, Compiled],
    board: Board,
    host: Npu,
    own_places: Path,
    works: bool,
) -> None:
    bring(here, own_places / "stick", *networks)
    board.refuses_contexts = not works
    pictures = own_places / "pictures"
    pictures.mkdir()
    assert cv2.imwrite(str(pictures / "grey.png"), np.full((48, 64, 3), 128, np.uint8))
    camera = {"kind": "replay", "replay_paths": [str(pictures)], "replay_pace": "fast"}
    settings = Settings.model_validate(
        {
            "camera": {**camera, "replay_picture_seconds": 0},
            "models": {"pack": "tiny"},
            "detection": {"input_size_px": SIZE, "score_threshold": 0.9999},
            "recognition": {"fixed_threshold": 0.5},
            "inference": {"fallback": "cpu", **PLAIN},
        }
    )
    heard = Collector()
    sinks = {"collector": SinkPlan(lambda: heard, Delivery.MOMENTARY)}
    line = Line(parts_of(settings, places_of_this_process(), sinks, FaceTap(), lambda: host))
    line.start()
    assert line.crew.wait(60)
    assert line.stop(60) == []
    assert line.crew.failures == []
    assert isinstance(line.networks, Register)
    where = {serving.network: serving.where for serving in line.networks.snapshot()}
    cores = {"tiny-detector": "rk3588 core 0", "tiny-embedder": "rk3588 core 1"}
    assert where == (cores if works else dict.fromkeys(cores, "cpu"))
    assert ("inference" in board.calls) is works
    told = [e.happening for e in heard.events if isinstance(e.happening, Trouble)]
    fallen = [t.detail for t in told if t.where == "inference"]
    assert len(fallen) == (0 if works else 2)
    assert all("runs on the CPU: tiny-" in detail for detail in fallen)
    assert board.open_masks == [], "every context was given back"


def test_networks_run_once_before_a_camera_is_opened(
    here: Installation,
    pack: PackManifest,
    networks: tuple[Compiled, Compiled],
    board: Board,
    host: Npu,
    own_places: Path,
) -> None:
    bring(here, own_places / "stick", *networks)
    settings = Settings.model_validate(
        {
            "models": {"pack": "tiny"},
            "detection": {"input_size_px": SIZE},
            "recognition": {"fixed_threshold": 0.5},
            "inference": PLAIN,
        }
    )
    parts = parts_of(settings, places_of_this_process(), {}, FaceTap(), lambda: host)
    with parts.open_watcher(), parts.open_knowledge():
        with_rehearsal = board.calls.count("inference")
    assert with_rehearsal == 2 * (1 + 1), "a golden picture each, and a rehearsal each"


class Collector:
    """A sink that keeps what it gets."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def emit(self, event: Event) -> None:
        self.events.append(event)

    def close(self) -> None:
        return None
