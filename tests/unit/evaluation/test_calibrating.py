"""From comparisons to a manifest's calibration, and into the text of a manifest."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from edgefaced.core.calibration import ScoreCalibration
from edgefaced.core.comparisons import Comparisons, compare_all
from edgefaced.errors import ManifestError, Refused
from edgefaced.evaluation.calibrating import (
    measure_calibration,
    refuse_too_few,
    rounded_up,
    spec_of,
)
from edgefaced.evaluation.manifest_text import (
    calibration_toml,
    is_manifest,
    toml_string,
    with_calibration,
)
from edgefaced.evaluation.people import Pictures
from edgefaced.models.catalogue import shipped_folder
from edgefaced.models.manifest import CalibrationSpec, parse_manifest
from edgefaced.types import Role

REFERENCE = (shipped_folder() / "reference.toml").read_text(encoding="utf-8")


def faces(people: int, each: int) -> Comparisons:
    rng = np.random.default_rng(people)
    vectors = np.repeat(rng.standard_normal((people, 64)), each, axis=0)
    vectors += 0.4 * rng.standard_normal(vectors.shape)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    owners = np.repeat(np.arange(people), each).astype(np.intp)
    owners[-1] = people  # one picture of the last person under another name
    return compare_all(vectors.astype(np.float32), owners)


@pytest.fixture(scope="module")
def measured() -> ScoreCalibration:
    return measure_calibration(faces(200, 2)).without_suspects


@pytest.fixture(scope="module")
def spec(measured: ScoreCalibration) -> CalibrationSpec:
    name = 'a "folder" \\ with\nodd characters, né 😀'
    return spec_of(measured, measured_on=name, detector="yunet", excluded=3)


def test_suspects_are_left_out_of_one_of_two_calibrations() -> None:
    result = measure_calibration(faces(200, 2))
    assert len(result.suspects.pairs) == 1
    assert result.everything.comparisons - result.without_suspects.comparisons == 1


def test_too_little_is_refused_with_the_numbers() -> None:
    with pytest.raises(Refused) as caught:
        measure_calibration(faces(30, 2))
    assert "31 people and 1,741 comparisons" in str(caught.value)
    assert "needs 100 and 10,000" in str(caught.value)


def test_scores_without_a_tail_are_refused() -> None:
    same = np.zeros((150, 8), dtype=np.float32)
    same[:, 0] = 1.0
    with pytest.raises(Refused, match=r"cannot be calibrated: .* all alike"):
        measure_calibration(compare_all(same, np.arange(150, dtype=np.intp)))


def test_rounding_keeps_bounds_above(measured: ScoreCalibration, spec: CalibrationSpec) -> None:
    again = spec.calibration()
    for knot, written in zip(measured.knots, again.knots, strict=True):
        assert written.fmr == pytest.approx(knot.fmr, rel=1e-3)
        assert knot.fmr_upper <= written.fmr_upper <= knot.fmr_upper * 1.002
    for score in np.linspace(measured.tail.start, 0.999, 50):
        assert again.fmr_upper(score) == pytest.approx(measured.fmr_upper(score), rel=5e-3)


@pytest.mark.parametrize("value", [1.0, 0.1, 0.123449, 0.99999, 1.2341e-7, 9.9999e-5, 1e-9])
def test_rounded_up(value: float) -> None:
    assert value <= rounded_up(value) <= value * 1.001
    assert float(f"{rounded_up(value):.4g}") == rounded_up(value)


def test_block_reads_back_as_it_was(spec: CalibrationSpec) -> None:
    table = tomllib.loads("[[model]]\n" + calibration_toml(spec))["model"][0]["calibration"]
    read = CalibrationSpec.model_validate(table)
    name = 'a "folder" \\ with?odd characters, né 😀'
    assert read == spec.model_copy(update={"measured_on": name})


def test_block_finds_its_place_and_is_replaced(spec: CalibrationSpec) -> None:
    spec = spec.model_copy(update={"measured_on": "a folder"})
    bare = parse_manifest(REFERENCE.encode(), "reference.toml")
    once = with_calibration(REFERENCE, spec, "reference.toml")
    assert parse_manifest(once.encode(), "x").of_role(Role.EMBEDDER).calibration == spec
    assert once.count("[model.calibration]") == 1
    # Nothing else is touched, comments included.
    kept = [line for line in REFERENCE.splitlines() if line.startswith("#")]
    assert [line for line in once.splitlines() if line.startswith("#")] == kept

    other = spec.model_copy(update={"identities": 4})
    twice = with_calibration(once, other, "reference.toml")
    assert parse_manifest(twice.encode(), "x").of_role(Role.EMBEDDER).calibration == other
    assert with_calibration(twice, spec, "reference.toml") == once
    assert bare.proof == parse_manifest(twice.encode(), "x").proof


def test_block_goes_to_the_embedder_wherever_it_stands(spec: CalibrationSpec) -> None:
    spec = spec.model_copy(update={"measured_on": "a folder"})
    head, detector, rest = REFERENCE.split("[[model]]\n")
    embedder = rest.split("# Photographs")[0]
    swapped = f"{head}[[model]]\n{embedder}[[model]]\n{detector}"
    written = with_calibration(swapped, spec, "mine.toml", name="mine")
    manifest = parse_manifest(written.encode(), "mine.toml")
    assert manifest.name == "mine"
    assert manifest.of_role(Role.EMBEDDER).calibration == spec
    # As the last table of the file as well.
    last = with_calibration(f"{head}[[model]]\n{detector}[[model]]\n{embedder}", spec, "mine.toml")
    assert last.endswith("\n")
    assert not last.endswith("\n\n")


def test_a_text_that_cannot_take_the_block_is_left_alone(spec: CalibrationSpec) -> None:
    with pytest.raises(ManifestError, match="not a manifest"):
        with_calibration("manifest = 1\n", spec, "not a manifest")
    # A string over several lines that looks like a table's head.
    odd = REFERENCE.replace('licence = "Apache-2.0"', 'licence = """\n[model.calibration]\nx"""')
    assert odd != REFERENCE
    with pytest.raises(ManifestError, match=r"odd\.toml"):
        with_calibration(odd, spec, "odd.toml")
    # Another line that looks like the pack's name.
    named = REFERENCE.replace("manifest = 1\n", 'manifest = 1\nsummary = """\nname = 2\n"""\n')
    named = re.sub(r"\nsummary = \"[^\"].*", "", named)
    with pytest.raises(ManifestError, match="could not be put in its place"):
        with_calibration(named, spec, "odd.toml", name="mine")


def test_what_is_a_manifest(spec: CalibrationSpec) -> None:
    assert is_manifest(REFERENCE)
    assert not is_manifest(calibration_toml(spec))
    assert not is_manifest("= not TOML")
    assert not is_manifest("")


def test_strings_are_toml() -> None:
    text = 'quote " backslash \\ tab \t bell \x07 é'
    assert tomllib.loads(f"a = {toml_string(text)}")["a"] == 'quote " backslash \\ tab ? bell ? é'


def test_shipped_manifests_have_a_place_for_a_calibration(spec: CalibrationSpec) -> None:
    spec = spec.model_copy(update={"measured_on": "a folder"})
    for path in sorted(Path(shipped_folder()).glob("*.toml")):
        text = with_calibration(path.read_text(encoding="utf-8"), spec, path.name)
        assert parse_manifest(text.encode(), path.name).name == path.stem


def pictures_of(*each: int) -> Pictures:
    owners = tuple(owner for owner, count in enumerate(each) for _ in range(count))
    paths = tuple(Path(str(i)) for i in range(len(owners)))
    return Pictures(paths, owners, tuple(str(i) for i in range(len(each))))


def test_too_few_are_refused_before_the_first_picture_is_read() -> None:
    with pytest.raises(Refused, match="99 people and 121,275 comparisons"):
        refuse_too_few(pictures_of(*[5] * 99))
    with pytest.raises(Refused, match="141 people and 9,870 comparisons"):
        refuse_too_few(pictures_of(*[1] * 141))
    refuse_too_few(pictures_of(*[1] * 142))
    refuse_too_few(pictures_of(*[3] * 100))
