"""What is handed over: a record that a device reads, and the files that it names."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import numpy as np
import pytest
from conversions import DATA, GOLDEN, model
from edgefaced_convert.archive import write_archive
from edgefaced_convert.golden import drawn_picture
from edgefaced_convert.rknn_build import dtypes_of
from edgefaced_convert.versions import needs_of

from edgefaced.errors import ManifestError
from edgefaced.models.compiled import COMPILED_FILE, CompiledRecord, parse_compiled
from edgefaced.models.compiled_text import compiled_toml


def test_the_record_is_read_back_as_it_was() -> None:
    record = CompiledRecord(compiled=1, pack="mobilefacenet", model=(model(DATA, GOLDEN),))
    assert parse_compiled(compiled_toml(record).encode(), "it") == record


def test_an_archive_has_the_record_first_and_every_file_it_names(tmp_path: Path) -> None:
    path = tmp_path / "p.tar"
    size_bytes = write_archive(path, "p", [model(DATA, GOLDEN)], [DATA, GOLDEN])
    assert path.stat().st_size == size_bytes
    with tarfile.open(path) as archive:
        assert archive.getnames() == [COMPILED_FILE, "net.rknn", "net.npz"]
        found = archive.extractfile(COMPILED_FILE)
        assert found is not None
        record = parse_compiled(found.read(), COMPILED_FILE)
    assert record.model[0].sha256 == DATA.sha256
    first = path.read_bytes()
    write_archive(path, "p", [model(DATA, GOLDEN)], [DATA, GOLDEN])
    assert path.read_bytes() == first


def test_one_network_twice_is_no_record() -> None:
    one = model(DATA, GOLDEN)
    text = compiled_toml(CompiledRecord(compiled=1, pack="p", model=(one,)))
    twice = text + text[text.index("[[model]]") :]
    with pytest.raises(ManifestError, match="once"):
        parse_compiled(twice.encode(), "it")


@pytest.mark.parametrize(
    ("target", "toolkit", "runtime"), [("rk3566", "2.5.0", "2.5.0"), ("rk3588", "2.3.2", "2.3.0")]
)
def test_the_runtime_is_not_older_than_the_toolkit(target: str, toolkit: str, runtime: str) -> None:
    needs = needs_of(target, toolkit)
    assert (needs.toolkit, needs.runtime) == (toolkit, runtime)
    assert needs.driver
    assert needs_of("cpu", "").driver == ""


def test_the_types_of_outputs_stand_in_a_compiled_files_head() -> None:
    head = (
        b'RKNN\x00\x01{"443": {"dtype": "int8", "layout": "NCHW"}, "b": {"dtype": "float16"}}\x00'
    )
    assert dtypes_of(head) == {"443": "int8", "b": "float16"}
    assert dtypes_of(b"RKNN") == {}
    assert dtypes_of(b'RKNN{"cut off') == {}


def test_a_drawn_picture_is_the_same_everywhere() -> None:
    picture = drawn_picture(64)
    assert picture.shape == (1, 64, 64, 3)
    assert picture.dtype == np.uint8
    assert np.ptp(picture) > 100
    buffer = io.BytesIO()
    np.savez(buffer, image=picture)
    assert np.array_equal(drawn_picture(64), picture)
