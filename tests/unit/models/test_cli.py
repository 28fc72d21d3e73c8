"""`edgefaced models` as a person and as a program uses it."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from installation import Installation
from tiny_pack import TinyPack

from edgefaced.cli.main import run

Capture = pytest.CaptureFixture[str]


@dataclass(frozen=True)
class Answer:
    """What a command said and how it ended."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        (line,) = self.out.splitlines()  # exactly one document
        document: dict[str, Any] = json.loads(line)
        return document


Edgefaced = Callable[..., Answer]


@pytest.fixture
def edgefaced(
    here: Installation,
    own_places: Path,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> Edgefaced:
    """Runs `edgefaced models ...` on this test's store, with its wheel folder as pip's only one."""
    monkeypatch.setenv("EDGEFACED_MODELS_DIR", str(here.store.folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(here.wheels))

    def command(*arguments: str) -> Answer:
        status = run(["models", *arguments])
        said = capsys.readouterr()
        return Answer(status, said.out, said.err)

    return command


@pytest.mark.usefixtures("pack")
def test_terms_are_said_before_anything_is_fetched(edgefaced: Edgefaced) -> None:
    answer = edgefaced("pull", "tiny")
    assert answer.status == 0
    lines = answer.err.splitlines()
    assert lines[:3] == [
        "tiny: tiny-detector: nobody's",
        "tiny: tiny-embedder: MIT",
        "tiny: not for doors",
    ]
    assert "tiny: installed (2 files fetched, 2 networks prepared)" in answer.out


@pytest.mark.usefixtures("pack")
def test_terms_are_said_even_where_the_pull_fails(here: Installation, edgefaced: Edgefaced) -> None:
    (here.wheels / "tiny-1.0.tar.gz").unlink()
    answer = edgefaced("pull", "tiny", "--json")
    assert answer.status == 5
    assert answer.document["error"]["code"] == "download"
    assert answer.document["error"]["retryable"] is True
    assert "not for doors" in answer.err


@pytest.mark.usefixtures("pack")
def test_a_pull_as_a_document(edgefaced: Edgefaced) -> None:
    (pack,) = edgefaced("pull", "tiny", "--json").document["packs"]
    assert pack["name"] == "tiny"
    assert pack["changed"] is True
    assert [file["source"] for file in pack["fetched"]] == ["tiny-1.0.tar.gz"] * 2
    assert [network["anew"] for network in pack["prepared"]] == [True, True]
    assert pack["prepared"][0]["variants"][0]["proof"]["lowest_cosine"] > 0.9999
    (again,) = edgefaced("pull", "tiny", "--json").document["packs"]
    assert again["changed"] is False
    assert "already installed" in edgefaced("pull", "tiny", "tiny").out


@pytest.mark.usefixtures("pack")
def test_without_a_name_the_configured_pack_is_pulled(
    here: Installation, edgefaced: Edgefaced
) -> None:
    (here.folder / "edgefaced.toml").write_text('[models]\npack = "tiny"\n')
    assert edgefaced("pull").out.startswith("tiny: installed")


@pytest.mark.usefixtures("pack")
def test_list_says_state_size_terms_and_notice(edgefaced: Edgefaced) -> None:
    text = edgefaced("list").out
    for words in ("reference*", "commercial", "tiny-detector", "nobody's", "tiny: not for doors"):
        assert words in text
    packs = {p["name"]: p for p in edgefaced("list", "--json").document["packs"]}
    assert packs["tiny"]["state"] == "not installed"
    assert packs["tiny"]["models"][0]["prepared"] is None
    assert packs["commercial"]["commercial_use"] is True
    assert packs["reference"]["commercial_use"] is False
    assert packs["reference"]["configured"] is True
    assert "non-commercial research only" in packs["reference"]["notice"]
    edgefaced("pull", "tiny")
    packs = {p["name"]: p for p in edgefaced("list", "--json").document["packs"]}
    assert packs["tiny"]["state"] == "installed"
    assert packs["tiny"]["models"][0]["prepared"]["for_this_machine"] is True


def test_list_says_what_another_machine_prepared(
    here: Installation, tiny: TinyPack, edgefaced: Edgefaced
) -> None:
    pack = here.know(tiny)
    here.pull(pack)
    path = here.store.layout.prepared(pack.model[0]) / "prepared.json"
    record = here.store.record(pack.model[0])
    path.write_text(record.model_copy(update={"machine": "another"}).model_dump_json())
    assert "installed, to be prepared again" in edgefaced("list").out


@pytest.mark.usefixtures("pack")
def test_show_says_everything(edgefaced: Edgefaced) -> None:
    edgefaced("pull", "tiny")
    text = edgefaced("show", "tiny").out
    for words in ("state: installed", "notice: not for doors", "licence: MIT", "sha256", "pixels"):
        assert words in text
    assert "prepared for 112x112" in text
    assert "member tiny-1.0/detector.onnx" in text
    document = edgefaced("show", "tiny", "--json").document
    assert document["pack"]["state"] == "installed"
    assert document["manifest"]["model"][1]["embedding"]["dimension"] == 16


@pytest.mark.parametrize("name", ["reference", "commercial", "mobilefacenet", "buffalo-sc"])
def test_every_shipped_pack_can_be_shown(edgefaced: Edgefaced, name: str) -> None:
    assert edgefaced("show", name).status == 0
    assert edgefaced("show", name, "--json").document["manifest"]["name"] == name


def test_an_unknown_pack_is_one_line(edgefaced: Edgefaced) -> None:
    answer = edgefaced("show", "\x1b[31mred")
    assert answer.status == 5
    assert len(answer.err.splitlines()) == 1
    assert "\x1b" not in answer.err


@pytest.mark.usefixtures("pack")
def test_verify_says_what_is_wrong_and_how_to_repair_it(
    here: Installation, edgefaced: Edgefaced
) -> None:
    edgefaced("pull", "tiny")
    answer = edgefaced("verify", "tiny")
    assert (answer.status, answer.out) == (0, "tiny: 6 files are as they should be\n")
    (path,) = here.store.folder.glob("files/*/detector.onnx")
    path.write_bytes(path.read_bytes()[:-1] + b"\0")
    answer = edgefaced("verify", "tiny")
    assert answer.status == 1
    assert "detector.onnx" in answer.out
    assert answer.err == "to repair: edgefaced models pull tiny\n"
    document = edgefaced("verify", "tiny", "--json").document
    assert document["ok"] is False
    assert len(document["packs"][0]["faults"]) == 1
    edgefaced("pull", "tiny")
    assert edgefaced("verify", "tiny").status == 0


@pytest.mark.usefixtures("pack")
def test_verify_looks_at_what_is_installed_and_at_what_is_configured(
    here: Installation, edgefaced: Edgefaced
) -> None:
    assert edgefaced("verify", "--json").document["packs"][0]["name"] == "reference"
    edgefaced("pull", "tiny")
    (here.folder / "edgefaced.toml").write_text('[models]\npack = "tiny"\n')
    assert edgefaced("verify").status == 0


@pytest.mark.usefixtures("pack")
def test_import_export_and_remove(
    here: Installation, tiny: TinyPack, edgefaced: Edgefaced, tmp_path: Path
) -> None:
    folder = tiny.write_files(tmp_path / "stick")
    answer = edgefaced("import", str(folder))
    assert answer.status == 0
    assert "tiny: installed (2 files found, 2 networks prepared)" in answer.out
    assert "not for doors" in answer.err
    file = tmp_path / "tiny.tar"
    document = edgefaced("export", "tiny", str(file), "--json").document
    assert document["members"] == ["tiny.toml", "detector.onnx", "embedder.onnx"]
    document = edgefaced("remove", "tiny", "--json").document
    assert document["deleted"] == ["detector.onnx", "embedder.onnx"]
    (pack,) = edgefaced("import", str(file), "--pack", "tiny", "--json").document["packs"]
    assert pack["installed"] is True
    assert "3 files written" in edgefaced("export", "tiny", str(file)).out
    assert "tiny: removed, 2 files deleted" in edgefaced("remove", "tiny").out


@pytest.mark.usefixtures("pack")
def test_an_incomplete_import_is_a_no(tiny: TinyPack, edgefaced: Edgefaced, tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(tiny.detector)
    answer = edgefaced("import", str(tmp_path / "one"))
    assert answer.status == 1
    assert answer.out == "tiny: not complete, still missing: embedder.onnx\n"
    document = edgefaced("import", str(tmp_path / "one"), "--json").document
    assert document["ok"] is False
    assert document["packs"][0]["missing"] == ["embedder.onnx"]


@pytest.mark.usefixtures("pack")
@pytest.mark.parametrize("package", ["requests", "pypi_simple", "onnx"])
def test_what_pulling_needs_is_said_with_the_command_that_gets_it(
    edgefaced: Edgefaced, package: str, monkeypatch: pytest.MonkeyPatch, here: Installation
) -> None:
    page = here.folder / "links.html"
    page.write_text('<a href="wheels/tiny-1.0.tar.gz">tiny-1.0.tar.gz</a>')
    monkeypatch.setenv("PIP_FIND_LINKS", str(page))
    monkeypatch.setitem(sys.modules, package, None)
    answer = edgefaced("pull", "tiny")
    assert answer.status == 8
    assert re.search(r"pip install .edgefaced\[models\].", answer.err)
    assert package.replace("_", "-") in answer.err
