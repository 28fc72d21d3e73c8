"""models/README.md is the reference of the manifest: it names every key, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from edgefaced.models import manifest
from edgefaced.models.catalogue import shipped_folder

README = (shipped_folder() / "README.md").read_text()
TABLES: list[type[manifest.Strict]] = [
    manifest.PackManifest,
    manifest.ModelSpec,
    manifest.PypiSource,
    manifest.HttpsSource,
    manifest.InputSpec,
    manifest.OutputSpec,
    manifest.DecoderSpec,
    manifest.EmbeddingSpec,
    manifest.CalibrationSpec,
    manifest.TailSpec,
    manifest.PictureSpec,
]
SUBTABLES = {"model", "proof", "source", "input", "decoder", "embedding", "calibration"}


def test_every_table_of_the_format_is_looked_at() -> None:
    tables = {
        value
        for value in vars(manifest).values()
        if isinstance(value, type) and issubclass(value, manifest.Strict)
    }
    assert tables == {*TABLES, manifest.Strict}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__name__)
def test_every_key_is_described(table: type[BaseModel]) -> None:
    for key in table.model_fields:
        written = f"{key}]" if key in SUBTABLES else f"`{key}`"
        assert written in README or f"{{ {key} =" in README or f", {key} =" in README, key


def test_every_described_key_exists() -> None:
    keys = {key for table in TABLES for key in table.model_fields}
    keys_part = README[README.index("## Keys") : README.index("## What lies")]
    for row in re.findall(r"^\| (`[^|]+) \|", keys_part, flags=re.MULTILINE):
        for key in re.findall(r"`\[*([a-z_0-9]+)\]*`", row):
            assert key in keys, key


def test_the_packs_of_the_readme_are_the_shipped_ones() -> None:
    table = README[: README.index("## Adding")]
    named = re.findall(r"^\| `([a-z-]+)` \|", table, flags=re.MULTILINE)
    shipped = {path.stem for path in Path(shipped_folder()).glob("*.toml")}
    assert set(named) == shipped
