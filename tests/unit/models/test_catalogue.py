"""The shipped manifests, the person's own, and what a manifest may not say."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pypi_simple import PYPI_SIMPLE_ENDPOINT
from tiny_pack import TinyPack

import edgefaced
from edgefaced.errors import ManifestError, ModelMissing
from edgefaced.models.catalogue import catalogue, find_pack, shipped_folder
from edgefaced.models.layout import recipe
from edgefaced.models.manifest import parse_manifest
from edgefaced.types import ColourOrder, Role

TINY = TinyPack()


def test_the_shipped_packs_are_these() -> None:
    packs = catalogue()
    networks = {name: tuple(spec.id for spec in pack.model) for name, pack in packs.items()}
    assert networks == {
        "buffalo-sc": ("scrfd-500m", "w600k-mbf"),
        "commercial": ("yunet-2023mar", "sface-2021dec"),
        "mobilefacenet": ("scrfd-500m", "mobilefacenet-128"),
        "reference": ("scrfd-2.5g", "sface-2021dec"),
    }


def test_only_the_commercial_pack_may_be_shipped_in_a_product() -> None:
    assert [pack.name for pack in catalogue().values() if pack.commercial_use] == ["commercial"]


def test_a_pack_with_restricted_weights_says_so() -> None:
    for pack in catalogue().values():
        assert pack.commercial_use != ("non-commercial" in pack.notice)


def test_every_shipped_detector_is_prepared_for_the_usual_sizes() -> None:
    for pack in catalogue().values():
        assert pack.of_role(Role.DETECTOR).input.sizes == (160, 320, 640)


def test_one_network_is_described_alike_in_every_pack() -> None:
    seen: dict[str, str] = {}
    for pack in catalogue().values():
        for spec in pack.model:
            assert seen.setdefault(spec.sha256, recipe(spec)) == recipe(spec)


def test_colour_orders_are_those_of_the_training() -> None:
    orders = {s.id: s.input.colour_order for p in catalogue().values() for s in p.model}
    assert [name for name, order in orders.items() if order is ColourOrder.BGR] == ["yunet-2023mar"]


def test_every_photograph_has_a_credit() -> None:
    for pack in catalogue().values():
        assert len(pack.proof) >= 6
        assert all(picture.credit for picture in pack.proof)


def test_no_package_index_has_its_name_in_the_program() -> None:
    host = urlsplit(PYPI_SIMPLE_ENDPOINT).hostname
    assert host is not None
    program = Path(edgefaced.__file__).parent
    for path in (*shipped_folder().glob("*"), *program.rglob("*.py")):
        assert host not in path.read_text()


def test_own_packs_are_found_beside_the_shipped_ones(tmp_path: Path) -> None:
    TINY.write_manifest(tmp_path)
    assert find_pack("tiny", (tmp_path,)).summary == "Two tiny networks"
    assert set(catalogue((tmp_path,))) == {*catalogue(), "tiny"}


def test_a_shipped_pack_cannot_be_replaced(tmp_path: Path) -> None:
    TinyPack(name="reference").write_manifest(tmp_path)
    assert find_pack("reference", (tmp_path,)) == find_pack("reference")


def test_a_broken_manifest_does_not_hide_the_others(tmp_path: Path) -> None:
    (tmp_path / "broken.toml").write_text("manifest = ")
    assert find_pack("reference", (tmp_path,)).name == "reference"
    with pytest.raises(ManifestError, match=r"broken\.toml"):
        find_pack("broken", (tmp_path,))
    with pytest.raises(ManifestError, match=r"broken\.toml"):
        catalogue((tmp_path,))


def test_a_manifest_bears_the_name_of_its_pack(tmp_path: Path) -> None:
    TINY.write_manifest(tmp_path).rename(tmp_path / "other.toml")
    with pytest.raises(ManifestError, match="tiny"):
        find_pack("other", (tmp_path,))


@pytest.mark.parametrize("name", ["nothing", "../../etc/passwd", "", "a/b", "--json", "\x1b[2J"])
def test_an_unknown_name_is_answered_with_what_there_is(name: str) -> None:
    with pytest.raises(ModelMissing) as caught:
        find_pack(name)
    assert "commercial" in caught.value.hint


@pytest.mark.parametrize(
    ("good", "bad", "key"),
    [
        ('member = "tiny-1.0/detector.onnx"', 'member = "../../etc/passwd"', "member"),
        ('member = "tiny-1.0/detector.onnx"', 'member = "/etc/passwd"', "member"),
        ('member = "tiny-1.0/detector.onnx"', 'member = "a//b"', "member"),
        ('member = "tiny-1.0/detector.onnx"', "member = 'a\\..\\b'", "member"),
        ('file = "detector.onnx"', 'file = "../detector.onnx"', "file"),
        ('file = "detector.onnx"', 'file = ".hidden"', "file"),
        ('name = "tiny"', 'name = "../tiny"', "name"),
        ("commercial_use = false", 'commercial_use = "maybe"', "commercial_use"),
        ("summary =", "sumary =", "sumary"),
        ("manifest = 1", "manifest = 2", "manifest"),
        ("std = [255.0, 255.0, 255.0]", "std = [255.0, 255.0, nan]", "std"),
        ('sha256 = "', 'sha256 = "0', "sha256"),
        ('role = "embedder"', 'role = "detector"', "model"),
        ('scores = ["score"]', 'scores = ["scores"]', "score"),
        ("sizes = [32]", "sizes = [33]", "sizes"),
        ("sizes = [32]", "", "sizes"),
        ("strides = [8]", "strides = [8, 16]", "one per stride"),
        ('kind = "scrfd"', 'kind = "yunet"', "objectness"),
        ('kind = "scrfd"', 'kind = "scrfd"\nobjectness = ["score"]', "objectness"),
        (
            'kind = "scrfd"',
            'kind = "yunet"\nobjectness = ["score", "score"]',
            "one per stride",
        ),
        ('role = "detector"', 'role = "liveness"', "decoder"),
        ('role = "embedder"', 'role = "liveness"', "embedding"),
        ('output = "vector"', 'output = "score"', "not an output"),
    ],
)
def test_what_a_manifest_may_not_say_is_answered_with_its_key(
    good: str, bad: str, key: str
) -> None:
    text = TINY.manifest
    assert good in text
    with pytest.raises(ManifestError, match=key):
        parse_manifest(text.replace(good, bad).encode(), "it")


def test_a_pack_says_that_it_has_no_model_of_a_role() -> None:
    pack = parse_manifest(TINY.manifest.encode(), "it")
    with pytest.raises(ManifestError, match="no liveness"):
        pack.of_role(Role.LIVENESS)


def test_a_manifest_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(ManifestError, match=r"folder\.toml"):
        find_pack("folder", (tmp_path,))


def test_an_https_source_without_a_member_pins_no_archive() -> None:
    source = 'kind = "https"\nurl = "https://a.invalid/x"\nsize_bytes = 3'
    with pytest.raises(ManifestError, match="name its member"):
        parse_manifest(TinyPack(sources=source).manifest.encode(), "it")


def test_thresholds_do_not_change_how_a_network_is_prepared() -> None:
    pack = parse_manifest(TINY.manifest.encode(), "it")
    other = TINY.manifest.replace("score_threshold = 0.5", "score_threshold = 0.6")
    sized = TINY.manifest.replace("sizes = [32]", "sizes = [64]")
    first, second, third = (
        recipe(p.of_role(Role.DETECTOR))
        for p in (pack, parse_manifest(other.encode(), ""), parse_manifest(sized.encode(), ""))
    )
    assert first == second != third
