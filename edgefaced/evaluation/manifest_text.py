"""A calibration as TOML, and its place in the text of a manifest."""

from __future__ import annotations

import json
import re
import tomllib

from edgefaced.errors import ManifestError
from edgefaced.models.manifest import CalibrationSpec, PackManifest, parse_manifest
from edgefaced.types import Role

_HEADER = re.compile(r"^\s*\[{1,2}\s*([A-Za-z0-9_.\- ]+?)\s*\]{1,2}\s*(#.*)?$")


def calibration_toml(spec: CalibrationSpec) -> str:
    """The `[model.calibration]` block of a manifest."""
    lines = [
        "[model.calibration]",
        f"measured_on = {toml_string(spec.measured_on)}",
        f"detector = {toml_string(spec.detector)}",
        f"identities = {spec.identities}",
        f"comparisons = {spec.comparisons}",
        f"excluded_comparisons = {spec.excluded_comparisons}",
        *_numbers("scores", spec.scores),
        *_numbers("fmr", spec.fmr),
        *_numbers("fmr_upper", spec.fmr_upper),
    ]
    for key, tail in (("tail", spec.tail), ("tail_upper", spec.tail_upper)):
        lines += ["", f"[model.calibration.{key}]"]
        lines += [f"{name} = {value!r}" for name, value in tail.model_dump().items()]
    return "\n".join(lines) + "\n"


def toml_string(value: str) -> str:
    """A basic string of TOML; what cannot be printed becomes a question mark."""
    return json.dumps("".join(c if c.isprintable() else "?" for c in value), ensure_ascii=False)


def _numbers(name: str, values: tuple[float, ...], a_line: int = 8) -> list[str]:
    rows = [values[at : at + a_line] for at in range(0, len(values), a_line)]
    return [f"{name} = [", *("  " + " ".join(f"{v!r}," for v in row) for row in rows), "]"]


def with_calibration(text: str, spec: CalibrationSpec, source: str, *, name: str = "") -> str:
    """A manifest's text with this calibration of its embedder, and all else as it was.

    `name` renames the pack. Raises ManifestError where `text` is no manifest, or not written so
    that the block can be put in its place.
    """
    before = parse_manifest(text.encode(), source)
    lines = text.splitlines()
    if name:
        at = next((i for i, line in enumerate(lines) if re.match(r"\s*name\s*=", line)), 0)
        lines[at] = f"name = {toml_string(name)}"
    start, end = _embedder_lines(lines, before)
    kept = _without_block(lines[start:end])
    body = len(kept)
    # Comments at the end speak of what follows, so the block goes before them.
    while body and (not kept[body - 1].strip() or kept[body - 1].lstrip().startswith("#")):
        body -= 1
    remarks = "\n".join(kept[body:]).strip("\n").splitlines()
    parts = [lines[:start] + kept[:body], calibration_toml(spec).splitlines(), remarks, lines[end:]]
    result = "\n\n".join("\n".join(part) for part in parts if part) + "\n"
    _same_but_calibration(before, parse_manifest(result.encode(), source), spec, source, name)
    return result


def _embedder_lines(lines: list[str], manifest: PackManifest) -> tuple[int, int]:
    """First line of the embedder's table, and the line after its last."""
    wanted = [model.role for model in manifest.model].index(Role.EMBEDDER)
    headers = [
        (at, match[1].strip()) for at, line in enumerate(lines) if (match := _HEADER.match(line))
    ]
    starts = [at for at, header in headers if header == "model"]
    start = starts[wanted] if wanted < len(starts) else 0
    later = [at for at, header in headers if at > start and not header.startswith("model.")]
    return start, min(later, default=len(lines))


def _without_block(lines: list[str]) -> list[str]:
    """The lines but those of `[model.calibration]` and its sub-tables."""
    kept: list[str] = []
    inside = False
    for line in lines:
        if match := _HEADER.match(line):
            inside = match[1].strip().startswith("model.calibration")
        if not inside or line.lstrip().startswith("#"):
            kept.append(line)
    return kept


def _same_but_calibration(
    before: PackManifest, after: PackManifest, spec: CalibrationSpec, source: str, name: str
) -> None:
    models = tuple(
        m.model_copy(update={"calibration": spec}) if m.role is Role.EMBEDDER else m
        for m in before.model
    )
    if after != before.model_copy(update={"model": models, "name": name or before.name}):
        raise ManifestError(
            f"{source}: the calibration could not be put in its place",
            "write it to another file and copy the block by hand",
        )


def is_manifest(text: str) -> bool:
    """Whether a TOML text claims to be a manifest: a bare calibration does not."""
    try:
        return "manifest" in tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
