"""`edgefaced bench`, run for real on a few frames."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from stand_in_pack import PACK, import_stand_in

from edgefaced.benchmark.pipeline import STAGES
from edgefaced.cli.main import run


@pytest.fixture(scope="module")
def models_dir(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return import_stand_in(shared_data, tmp_path_factory.mktemp("bench"))


@pytest.fixture
def one_face(shared_data: Path) -> str:
    return str(shared_data / "detect" / "rknn_retinaface_test.jpg")


@pytest.fixture
def places(own_places: Path, models_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EDGEFACED_MODELS_DIR", str(models_dir))
    return own_places


def document(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(capsys.readouterr().out)
    return read


@pytest.mark.usefixtures("places")
def test_every_stage_is_measured_at_every_size(
    one_face: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    arguments = ["bench", "--pack", PACK, "--frames", "4", "--templates", "30"]
    assert run([*arguments, "--picture", one_face, "--json"]) == 0
    body = document(capsys)
    assert [size["size"] for size in body["sizes"]] == [320, 640]
    for size in body["sizes"]:
        assert list(size["stages"]) == list(STAGES)
        assert all(stage["n"] == 4 and stage["p50_ms"] > 0 for stage in size["stages"].values())
        assert size["total"]["p50_ms"] > size["outside_networks"]["p50_ms"] > 0
        assert size["beside"] == []
        assert size["copied"]["bytes_per_frame"] == size["copied"]["bar_bytes"]
        assert size["copied"]["holds"]
    assert [size["copied"]["bar_bytes"] for size in body["sizes"]] == [
        320 * 192 * 3 + 112 * 112 * 3,
        640 * 384 * 3 + 112 * 112 * 3,
    ]
    assert body["machine"]["onnxruntime"]
    assert body["threads"] >= 1


@pytest.mark.usefixtures("places")
def test_a_person_reads_a_table(one_face: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["bench", "--pack", PACK, "--frames", "2", "--size", "320", "--templates", "1"]
    assert run([*arguments, "--picture", one_face]) == 0
    said = capsys.readouterr().out
    assert all(stage in said for stage in STAGES)
    assert "outside the networks" in said
    assert "bytes copied a frame: 221,952" in said
    assert "no more than these" in said
    assert "meanwhile other processes had" in said


@pytest.mark.parametrize("number", ["nan", "inf", "-1", "1e9"])
def test_a_delay_is_a_number(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "line", "--slower-ms", number]) == 2
    assert "Invalid value for '--slower-ms'" in capsys.readouterr().err


@pytest.mark.usefixtures("places")
def test_a_picture_of_several_faces_is_refused(
    shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    several = str(shared_data / "detect" / "insightface_t1.jpg")
    assert run(["bench", "--pack", PACK, "--size", "320", "--picture", several]) == 2
    assert "6 faces found in the picture" in capsys.readouterr().err


@pytest.mark.usefixtures("places")
@pytest.mark.parametrize("command", [["bench", "--size", "320"], ["bench", "start"]])
def test_a_pack_without_photographs_asks_for_a_picture(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*command, "--pack", PACK]) == 2
    assert "--picture FILE names one" in capsys.readouterr().err


def test_a_pack_that_is_not_here_says_how_to_get_it(
    own_places: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["bench", "--pack", "commercial"]) == 5
    assert "edgefaced models pull" in capsys.readouterr().err
    assert not (own_places / "models").exists()


def test_matching_is_measured_by_templates(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["bench", "match", "--templates", "50", "--dimension", "32", "--searches", "3"]
    assert run([*arguments, "--json"]) == 0
    body = document(capsys)
    assert {m["templates"] for m in body["match"]} == {50}
    assert all(m["search"]["n"] == 3 for m in body["match"])
    assert run(arguments) == 0
    assert "exact" in capsys.readouterr().out


def test_options_of_bench_go_behind_its_subcommand(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "--json", "match"]) == 2
    assert "--json goes behind match" in capsys.readouterr().out


@pytest.mark.usefixtures("places")
def test_a_fresh_process_is_measured(one_face: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["bench", "start", "--pack", PACK, "--runs", "1", "--picture", one_face]
    assert run([*arguments, "--json"]) == 0
    start = document(capsys)["start"]
    assert start["wall"]["n"] == 1
    assert start["wall"]["p50_ms"] > 0
    assert start["peak_rss_bytes"] > 20_000_000
    assert run(arguments) == 0
    assert "start to answer" in capsys.readouterr().out
