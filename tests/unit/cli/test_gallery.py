"""`edgefaced gallery`: figures, check, export and import, key, another model."""

from __future__ import annotations

import io
import json
import os
import pty
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import gallery_peer
import pytest
from installation import Installation
from tiny_pack import DIMENSION, SIZE, TinyPack

from edgefaced.gallery.records import NewTemplate
from edgefaced.gallery.store import Gallery

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def phrase(tmp_path: Path) -> str:
    """A file with a passphrase."""
    (tmp_path / "phrase").write_text("correct horse battery\nnot this line\n")
    return str(tmp_path / "phrase")


def opened(folder: Path) -> Gallery:
    state = folder / "state"
    return Gallery.open(state / "gallery.db", state / "gallery.key", create=True)


def enrol(folder: Path, *names: str, picture: bytes | None = None) -> None:
    with opened(folder) as gallery:
        for n, name in enumerate(names):
            gallery.enrol(name, [NewTemplate(gallery_peer.embedding(n), picture)])


def document(out: str) -> Any:
    assert out.count("\n") == 1, "one document"
    return json.loads(out)


@pytest.mark.parametrize("command", ["info", "check", "scrub", "rotate-key"])
def test_there_is_no_gallery(edgefaced: Run, own_places: Path, command: str) -> None:
    code, out, err = edgefaced("gallery", command)
    assert (code, out) == (6, "")
    assert "there is no gallery at" in err
    assert (
        document(edgefaced("gallery", command, "--json")[1])["error"]["code"] == "gallery-missing"
    )
    assert not (own_places / "state").exists()


def test_info(edgefaced: Run, own_places: Path) -> None:
    enrol(own_places, "Ann", "Bob", picture=b"png")
    code, out, _ = edgefaced("gallery", "info", "--json")
    body = document(out)
    assert code == 0
    assert (body["people"], body["templates"], body["pictures"]) == (2, {"sface": 2}, 2)
    assert body["key_file"] == str(own_places / "state" / "gallery.key")
    assert body["size_bytes"] > 0
    assert "templates: 2 of sface\n" in edgefaced("gallery", "info")[1]


def test_check(edgefaced: Run, own_places: Path) -> None:
    enrol(own_places, "Ann", "Bob")
    assert edgefaced("gallery", "check")[:2] == (0, "in order: 2 people, 2 templates, 0 pictures\n")
    assert document(edgefaced("gallery", "check", "--json")[1])["faults"] == []
    with closing(sqlite3.connect(own_places / "state" / "gallery.db", isolation_level=None)) as db:
        db.execute("UPDATE templates SET vector = zeroblob(length(vector)) WHERE row = 2")
        (bob,) = db.execute("SELECT person_id FROM templates WHERE row = 2").fetchone()
    code, out, err = edgefaced("gallery", "check")
    assert code == 6
    assert f"row 2 of templates.vector is damaged or was altered (of person {bob})\n" in out
    assert "1 faults" in out
    assert "remove" in err
    code, out, _ = edgefaced("gallery", "check", "--json")
    body = document(out)
    assert (code, body["ok"], body["faults"][0]["person_id"]) == (6, False, bob)


def test_a_gallery_that_is_no_database(edgefaced: Run, own_places: Path) -> None:
    enrol(own_places, "Ann")
    (own_places / "state" / "gallery.db").write_bytes(b"no database" * 1000)
    for command in (["list"], ["gallery", "check"]):
        code, _, err = edgefaced(*command)
        assert code == 6
        assert err.count("\n") == 1


def test_there_and_back(edgefaced: Run, own_places: Path, phrase: str) -> None:
    enrol(own_places, "Ann", "Bob", picture=b"png")
    file = str(own_places / "backup")
    code, out, _ = edgefaced("gallery", "export", file, "--passphrase-file", phrase)
    assert code == 0
    assert out.startswith("2 people, ")
    code, _, err = edgefaced("gallery", "export", file, "--passphrase-file", phrase)
    assert code == 1
    assert "--force" in err
    code, out, _ = edgefaced(
        "gallery", "export", file, "--passphrase-file", phrase, "--force", "--json"
    )
    assert (code, document(out)["people"]) == (0, 2)
    code, _, err = edgefaced("gallery", "import", file, "--passphrase-file", phrase)
    assert code == 1
    assert "already enrolled: Ann, Bob" in err
    bring = ("gallery", "import", file, "--passphrase-file", phrase)
    code, out, _ = edgefaced(*bring, "--skip")
    assert (code, out) == (0, "0 added, 0 replaced, 2 skipped\n")
    code, out, _ = edgefaced(*bring, "--replace", "--json")
    assert (code, document(out)["replaced"]) == (0, ["Ann", "Bob"])
    assert edgefaced("remove", "--all", "--yes")[0] == 0
    assert edgefaced(*bring)[:2] == (0, "2 added, 0 replaced, 0 skipped\n")
    assert len(document(edgefaced("list", "--json")[1])["people"]) == 2


def test_a_passphrase_from_standard_input(
    edgefaced: Run, own_places: Path, phrase: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    enrol(own_places, "Ann")
    file = str(own_places / "backup")
    assert edgefaced("gallery", "export", file, "--passphrase-file", phrase)[0] == 0
    monkeypatch.setattr(sys, "stdin", io.StringIO("correct horse battery\r\n"))
    assert edgefaced("gallery", "import", file, "--passphrase-file", "-", "--skip")[0] == 0
    monkeypatch.setattr(sys, "stdin", io.StringIO("wrong horse battery\n"))
    code, _, err = edgefaced("gallery", "import", file, "--passphrase-file", "-", "--skip")
    assert code == 6
    assert f"wrong passphrase for {file}" in err
    monkeypatch.setattr(sys, "stdin", io.StringIO("correct horse battery\n"))
    code, _, err = edgefaced("gallery", "import", file, "--skip")
    assert code == 2, "standard input is read when it is asked for only"
    assert "--passphrase-file" in err


def test_a_wrong_import_starts_no_gallery(
    edgefaced: Run, own_places: Path, phrase: str, tmp_path: Path
) -> None:
    (tmp_path / "no-export").write_bytes(b"PK\x03\x04")
    for file in ("no-export", "missing"):
        code, _, err = edgefaced(
            "gallery", "import", str(tmp_path / file), "--passphrase-file", phrase
        )
        assert code in (6, 9)
        assert err.count("\n") == 1
    assert not (own_places / "state").exists()


@pytest.mark.parametrize(
    ("content", "code"), [(b"", 2), (b"\nsecond", 2), (b"\xff\xfe", 2), (b"short\n", 2), (None, 9)]
)
def test_passphrase_files_that_do_not_do(
    edgefaced: Run, own_places: Path, content: bytes | None, code: int
) -> None:
    enrol(own_places, "Ann")
    file = own_places / "no phrase"
    if content is not None:
        file.write_bytes(content)
    target = own_places / "backup"
    got, _, err = edgefaced("gallery", "export", str(target), "--passphrase-file", str(file))
    assert got == code
    assert err.count("\n") == 1
    assert not target.exists()


def test_a_passphrase_is_asked_twice_and_not_shown(own_places: Path, edgefaced: Run) -> None:
    enrol(own_places, "Ann")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "edgefaced", "gallery", "export", str(own_places / "backup")],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
        start_new_session=True,
        env={**os.environ, "TERM": "dumb"},
    )
    os.close(theirs)
    shown = b""
    for _ in range(2):
        while not shown.endswith(b": "):
            shown += os.read(ours, 1000)
        shown += b"|"
        os.write(ours, b"correct horse battery\n")
    out, _ = process.communicate()
    os.close(ours)
    assert process.returncode == 0
    assert out.startswith("1 people")
    assert b"correct" not in shown
    (own_places / "phrase").write_text("correct horse battery")
    bring = ["gallery", "import", str(own_places / "backup"), "--skip"]
    assert edgefaced(*bring, "--passphrase-file", str(own_places / "phrase"))[0] == 0


def test_rotate_key(edgefaced: Run, own_places: Path) -> None:
    enrol(own_places, "Ann")
    key_file = own_places / "state" / "gallery.key"
    old = key_file.read_bytes()
    assert edgefaced("gallery", "rotate-key") == (0, f"a new key is in {key_file}\n", "")
    assert key_file.read_bytes() != old
    assert document(edgefaced("gallery", "rotate-key", "--json")[1])["scrubbed"] is True
    assert document(edgefaced("list", "--json")[1])["people"][0]["name"] == "Ann"
    key_file.write_bytes(old)
    code, _, err = edgefaced("list")
    assert code == 6
    assert "the key does not open this gallery" in err
    key_file.chmod(0o644)
    assert "chmod 600" in edgefaced("list")[2]
    key_file.unlink()
    code, out, _ = edgefaced("list", "--json")
    assert (code, document(out)["error"]["code"]) == (6, "gallery-key-missing")
    assert not key_file.exists()


def picture(seed: int) -> bytes:
    import cv2
    import numpy as np

    pixels = np.random.default_rng(seed).integers(0, 256, (112, 112, 3), np.uint8)
    done, png = cv2.imencode(".png", pixels)
    assert done
    return png.tobytes()


def test_re_embed_with_a_real_network(edgefaced: Run, own_places: Path) -> None:
    pack = Installation(own_places)
    pack.pull(pack.know(TinyPack()))
    (own_places / "edgefaced.toml").write_text(
        f'[models]\npack = "tiny"\n[detection]\ninput_size_px = {SIZE}\n'
    )
    enrol(own_places, "Ann", picture=picture(1))
    with opened(own_places) as gallery:
        gallery.enrol("Bob", [NewTemplate(gallery_peer.embedding(7))])
    code, out, err = edgefaced("gallery", "re-embed")
    assert (code, out) == (1, "")
    assert "no pictures are kept of Bob" in err
    code, out, err = edgefaced("gallery", "re-embed", "--drop-others")
    assert code == 0
    assert out == "1 people, 1 templates are now of tiny-embedder\nenrol again with --add: Bob\n"
    with opened(own_places) as gallery:
        table = gallery.templates("tiny-embedder")
        assert table.vectors.shape == (1, DIMENSION)
    assert "none: enrol again" in edgefaced("list")[1]
    assert "none: enrol again" in edgefaced("show", "Bob")[1]
    code, out, _ = edgefaced("gallery", "re-embed", "--json")
    body = document(out)
    assert (code, body["people"], body["model_id"]) == (0, 0, "tiny-embedder")


def test_re_embed_needs_the_pack(edgefaced: Run, own_places: Path) -> None:
    enrol(own_places, "Ann", picture=picture(1))
    code, _, err = edgefaced("gallery", "re-embed", "--pack", "commercial")
    assert code == 5
    assert "models pull commercial" in err
