"""`edgefaced evaluate` and `calibrate` with real networks on real faces."""

from __future__ import annotations

import json
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from plot_fonts import open_fonts
from stand_in_pack import PACK, import_stand_in

from edgefaced.cli.main import run
from edgefaced.config.sections import RecognitionSection
from edgefaced.core.calibration import Basis
from edgefaced.models.catalogue import find_pack
from edgefaced.models.manifest import CalibrationSpec
from edgefaced.recognition.threshold import threshold_for
from edgefaced.types import Role

PAIRS_A_FOLD = 25
PEOPLE = 150


@pytest.fixture(scope="module")
def models_dir(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return import_stand_in(shared_data, tmp_path_factory.mktemp("stand-in"))


@pytest.fixture(autouse=True)
def place(own_places: Path, models_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGEFACED_MODELS_DIR", str(models_dir))
    # Wide enough for a table's row to stay one line.
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture(scope="module")
def small_lfw(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first pairs of two folds, and the pictures they name."""
    source, folder = shared_data / "lfw", tmp_path_factory.mktemp("lfw")
    lines = (source / "pairs.txt").read_text(encoding="utf-8").splitlines()[1:]
    chosen = [
        line
        for fold in range(2)
        for kind in range(2)
        for line in lines[600 * fold + 300 * kind :][:PAIRS_A_FOLD]
    ]
    for line in chosen:
        fields = line.split("\t")
        second = fields[0] if len(fields) == 3 else fields[2]
        for name, number in ((fields[0], fields[1]), (second, fields[-1])):
            file = Path("images", name, f"{name}_{int(number):04d}.jpg")
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            # Without its mode: the data may be read-only, and a picture may come again.
            shutil.copyfile(source / file, folder / file)
    (folder / "pairs.txt").write_text("\n".join([f"2\t{PAIRS_A_FOLD}", *chosen]) + "\n")
    return folder


@pytest.fixture(scope="module")
def many_people(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One picture each of many people, and the first one's under a second name as well."""
    folder = tmp_path_factory.mktemp("many")
    people = sorted((shared_data / "lfw/images").iterdir())[: PEOPLE * 20 : 20]
    for person in people:
        (folder / person.name).mkdir()
        shutil.copy(min(person.iterdir()), folder / person.name)
    shutil.copytree(folder / people[0].name, folder / "Somebody Else")
    return folder


@pytest.fixture(scope="module")
def fonts(tmp_path_factory: pytest.TempPathFactory) -> None:
    open_fonts(tmp_path_factory.mktemp("fonts"))


def document(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    body = json.loads(capsys.readouterr().out)
    assert isinstance(body, dict)
    return body


@pytest.mark.usefixtures("fonts")
def test_lfw_by_machine(
    small_lfw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out"
    command = ["evaluate", "lfw", str(small_lfw), "--pack", PACK, "--output", str(output), "--json"]
    assert run(command) == 0
    body = document(capsys)
    assert (body["pack"], body["detector_size"], body["flip"]) == (PACK, 320, False)
    assert body["faces_found"] == len(list(small_lfw.glob("images/*/*.jpg")))
    assert body["no_face"] == body["unreadable"] == []
    lfw = body["lfw"]
    assert lfw["pairs"] == 4 * PAIRS_A_FOLD
    assert lfw["accuracy"] >= 0.97
    assert len(lfw["fold_accuracies"]) == 2
    assert lfw["tar_at_far"] == []  # 50 impostor pairs show no rate of 1 in 100
    assert lfw["eer"] <= 0.03
    assert body["all_pairs"]["impostors"] > 10_000
    assert body["all_pairs"]["points"][0]["fnmr"] < 0.1
    picture = Path(body["picture"])
    assert picture.parent == output
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_lfw_for_a_person_without_matplotlib_and_with_a_picture_of_nobody(
    small_lfw: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    folder = tmp_path / "lfw"
    shutil.copytree(small_lfw, folder)
    name, number, _ = (folder / "pairs.txt").read_text().splitlines()[1].split("\t")  # genuine
    faceless = folder / "images" / name / f"{name}_{int(number):04d}.jpg"
    cv2.imwrite(str(faceless), np.full((250, 250, 3), 128, dtype=np.uint8))

    assert run(["evaluate", "lfw", str(folder), "--pack", PACK, "--output", str(tmp_path)]) == 0

    said = capsys.readouterr()
    lines = said.out.splitlines()
    assert f"no face: {faceless}" in lines
    assert any(line.startswith("LFW, 2 folds, 100 pairs: accuracy 0.9") for line in lines)
    assert any(line.endswith("lack a face and count as not matching") for line in lines)
    assert any(line.startswith("EER: 0.0") for line in lines)
    assert any(line.startswith("1e-03 ") and line.count("%") >= 1 for line in lines)
    assert "no picture: matplotlib is needed" in said.err
    assert not list(tmp_path.glob("*.png"))


def test_folder_for_a_person(small_lfw: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["evaluate", "folder", str(small_lfw), "--pack", PACK, "--flip"]) == 0
    said = capsys.readouterr()
    assert "with mirror images" in said.out
    assert "faces found in" in said.out
    assert "FNMR" in said.out
    assert "accuracy" not in said.out  # there are no pairs to be right about
    assert "embedding:" in said.err


def test_a_picture_without_a_face_is_listed(
    small_lfw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "people"
    for person in sorted((small_lfw / "images").iterdir())[:3]:
        shutil.copytree(person, folder / person.name)
    broken = folder / "nobody"
    broken.mkdir()
    (broken / "empty.jpg").write_bytes(b"")
    assert run(["evaluate", "folder", str(folder), "--pack", PACK]) == 0
    assert "not read: " in capsys.readouterr().out


def test_calibration_finds_the_second_name_and_can_be_used(
    many_people: Path, models_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = f"own-{tmp_path.name.lower().replace('_', '-')}"[:60]
    command = ["calibrate", str(many_people), "--pack", PACK, "--target-fpir", "0.05"]
    assert run([*command, "--new-pack", own, "--json"]) == 0
    body = document(capsys)
    (suspect,) = body["suspects"]
    assert "Somebody Else" in suspect["first"] + suspect["second"]
    assert suspect["score"] > 0.99
    spec = CalibrationSpec.model_validate(body["calibration"])
    assert spec.identities == PEOPLE + 1
    assert spec.excluded_comparisons == 1
    assert spec.comparisons == (PEOPLE + 1) * PEOPLE // 2 - 1
    for rate in body["rates"]:
        assert rate["threshold"] <= rate["threshold_upper"]
    deepest = body["rates"][-1]
    assert deepest["threshold_upper"] < deepest["threshold_upper_with_suspects"]
    thresholds = body["thresholds"]
    assert [t["gallery_size"] for t in thresholds] == [1, 10, 100, 1_000, 10_000]
    assert all(t["fpir"] <= t["fpir_upper"] <= 0.05001 for t in thresholds)
    # So few people show rates of one in a thousand; what lies beyond is said to be extrapolated.
    bases = [t["basis"] for t in thresholds]
    assert bases[0] == "measured"
    assert bases[-2:] == ["extrapolated", "extrapolated"]
    assert [t["extrapolated"] for t in thresholds] == [b == "extrapolated" for b in bases]

    # The new pack is one like any other, and its threshold is what was promised.
    written = find_pack(own, (models_dir / "packs",)).of_role(Role.EMBEDDER)
    assert written.calibration == spec
    choice = threshold_for(RecognitionSection(target_fpir=0.05), written, 10)
    assert choice.threshold == pytest.approx(thresholds[1]["threshold"], abs=2e-3)
    assert choice.basis is Basis(bases[1])
    assert run(["evaluate", "folder", str(many_people), "--pack", own, "--json"]) == 0
    assert document(capsys)["pack"] == own

    # Again under the same name would overwrite it: refused before the long work.
    assert run([*command, "--new-pack", own]) == 2
    assert "there is a pack" in capsys.readouterr().err
    (models_dir / "packs" / f"{own}.toml").unlink()


def test_calibration_for_a_person_and_into_files(
    many_people: Path, models_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["calibrate", str(many_people), "--pack", PACK]
    assert run(command) == 0
    said = capsys.readouterr().out
    assert "perhaps one person" in said.lower()
    assert "left out of the calibration" in said
    assert "extrapolated" in said
    block = said[said.index("[model.calibration]") :]
    assert "calibration" in tomllib.loads(f"[[model]]\n{block}")["model"][0]

    bare = tmp_path / "calibration.toml"
    assert run([*command, "--keep-suspects", "--write", str(bare)]) == 0
    assert "kept all the same" in capsys.readouterr().out
    assert bare.read_text(encoding="utf-8").startswith("[model.calibration]")
    assert "excluded_comparisons = 0" in bare.read_text(encoding="utf-8")
    other = tmp_path / "edgefaced.toml"
    other.write_text("[models]\n")
    assert run([*command, "--write", str(other)]) == 2
    assert "neither a manifest nor a calibration" in capsys.readouterr().err

    manifest = tmp_path / f"{PACK}.toml"
    shutil.copy(models_dir / "packs" / f"{PACK}.toml", manifest)
    assert run([*command, "--write", str(manifest)]) == 0
    assert find_pack(PACK, (tmp_path,)).of_role(Role.EMBEDDER).calibration is not None


def test_too_few_people_are_refused_with_numbers(
    small_lfw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for person in sorted((small_lfw / "images").iterdir())[:5]:
        shutil.copytree(person, tmp_path / "few" / person.name)
    assert run(["calibrate", str(tmp_path / "few"), "--pack", PACK]) == 1
    said = capsys.readouterr().err
    assert "5 people and" in said
    assert "needs 100 and 10,000" in said
    assert "embedding" not in said, "it is known before the first picture is looked at"


def test_no_face_at_all_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        (tmp_path / "people" / name).mkdir(parents=True)
        (tmp_path / "people" / name / "empty.jpg").write_bytes(b"")
    assert run(["evaluate", "folder", str(tmp_path / "people"), "--pack", PACK]) == 1
    assert "faces were found in 0 of 2 pictures" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "status", "words"),
    [
        (["evaluate", "lfw", "{absent}"], 2, "is not a folder"),
        (["evaluate", "lfw", "{empty}"], 2, "has no pairs.txt"),
        (["evaluate", "folder", "{empty}"], 2, "0 sub-folders"),
        (["evaluate", "lfw", "{lfw}", "--pack", "nonsense"], 5, "no model pack"),
        (["evaluate", "lfw", "{lfw}", "--pack", PACK, "--detector-size", "96"], 5, "96x96"),
        (["calibrate", "{lfw}", "--write", "a", "--new-pack", "b"], 2, "choose one"),
        (["calibrate", "{lfw}", "--new-pack", "../x"], 2, "'../x'"),
        (["calibrate", "{lfw}", "--write", "{file}/x.toml"], 9, "place that you may write to"),
        (["evaluate", "folder", "{lfw}", "--output", "{file}/x"], 9, "place that you may write to"),
    ],
)
def test_faults_are_one_line_and_an_exit_code(
    command: list[str],
    status: int,
    words: str,
    small_lfw: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    places = {name: tmp_path / name for name in ("absent", "empty", "file")} | {"lfw": small_lfw}
    assert run([part.format(**places) for part in command]) == status
    said = capsys.readouterr()
    assert said.out == ""
    assert words in said.err
    assert "Traceback" not in said.err
    assert len(said.err.strip().splitlines()) == 1
