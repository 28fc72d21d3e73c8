"""The house stays a house: who may import whom, read from the code's own import statements."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "edgefaced"
MODULES = sorted(PACKAGE.rglob("*.py"))

VALUES = {"types", "errors"}
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "types": {"errors"},
    "protocols": VALUES | {"events"},
    "events": VALUES | {"clock"},
    "clock": set(),
    "storage": VALUES,
    "ledger": VALUES | {"events", "core", "storage"},
    "attendance": VALUES
    | {"protocols", "events", "config", "core", "gallery", "ledger", "spreadsheet"},
    "spreadsheet": set(),
    "config": VALUES | {"core"},
    "core": VALUES,
    "camera": VALUES | {"protocols", "config", "pictures"},
    "inference": VALUES | {"protocols"},
    "models": VALUES | {"config", "core", "inference"},
    "recognition": VALUES | {"protocols", "config", "core", "inference", "models"},
    "gallery": VALUES | {"protocols", "core", "storage"},
    "pictures": VALUES,
    "enrolment": VALUES
    | {"protocols", "config", "core", "gallery", "models", "pictures", "recognition"},
    "service": VALUES | {"config", "models", "gallery", "storage"},
    "sensors": VALUES,
    "gpio": VALUES,
    "sinks": VALUES | {"protocols", "events", "gallery", "config"},
    "pipeline": VALUES | {"protocols", "events", "clock", "core", "sensors", "gpio", "ledger"},
    "doors": VALUES
    | {"protocols", "events", "clock", "config", "core", "gallery"}
    | {"gpio", "models", "pipeline", "sinks"},
    "evidence": VALUES
    | {"protocols", "events", "clock", "gallery", "ledger", "pictures", "pipeline", "storage"},
    "setup": VALUES
    | {"config", "core", "camera", "gpio", "inference", "models", "sensors", "service", "sinks"},
    "evaluation": VALUES | {"protocols", "config", "core", "models", "pictures", "recognition"},
}
"""Rooms of edgefaced that a room may use, itself aside; one not named here may use any but cli."""

OPTIONAL = {
    "onnx",
    "pypi_simple",
    "requests",
    "faiss",
    "matplotlib",
    "pillow_heif",
    "insightface",
    "rknnlite",
    "picamera2",
    "libcamera",
    "systemd",
    "gpiod",
    "prometheus_client",
    "paho",
}
"""Packages of extras: never imported while a module of ours is being imported."""

CORE_MAY_USE = {"__future__", "numpy", "cv2", "math", "dataclasses", "collections", "functools"}
CORE_MAY_USE |= {"enum", "typing", "itertools", "bisect", "heapq", "statistics", "datetime"}

CLOCKS = {"now", "utcnow", "today"}
"""What datetime reads a clock with: in core a time is an argument."""


STAGE_WRAPPER = "pipeline/crew.py"
"""The one place that catches everything: a stage that fails ends the process, with its trace."""


def room(module: Path) -> str:
    first = module.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imports(tree: ast.AST) -> Iterator[tuple[str, bool]]:
    """(dotted name, whether it is imported as soon as the module is) of every import."""
    late: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            late.update(ast.walk(node))
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            late.update(ast.walk(node))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node not in late
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name their module in full"
            assert node.module is not None
            yield node.module, node not in late
            if node.module == "edgefaced":
                for alias in node.names:
                    yield f"edgefaced.{alias.name}", node not in late


def imports_of(module: Path) -> list[tuple[str, bool]]:
    return list(imports(ast.parse(module.read_text())))


def name(module: Path) -> str:
    return str(module.relative_to(PACKAGE))


@pytest.mark.parametrize("module", MODULES, ids=name)
def test_a_room_uses_only_the_rooms_it_may(module: Path) -> None:
    own = room(module)
    used = {n.split(".")[1] for n, _ in imports_of(module) if n.startswith("edgefaced.")}
    used.discard(own)
    used.discard("__version__")
    if own in ALLOWED:
        assert used <= ALLOWED[own], f"{own} may not use {sorted(used - ALLOWED[own])}"
    if own not in {"cli", "__main__"}:
        assert "cli" not in used, "only the command line knows the command line"


@pytest.mark.parametrize("module", [m for m in MODULES if room(m) == "core"], ids=name)
def test_core_is_arithmetic(module: Path) -> None:
    used = {n.split(".")[0] for n, _ in imports_of(module)} - {"edgefaced"}
    assert used <= CORE_MAY_USE, f"core may not use {sorted(used - CORE_MAY_USE)}"
    calls = (n.func for n in ast.walk(ast.parse(module.read_text())) if isinstance(n, ast.Call))
    called = {function.attr for function in calls if isinstance(function, ast.Attribute)}
    assert not called & CLOCKS, "core has no clock"


@pytest.mark.parametrize("module", MODULES, ids=name)
def test_optional_packages_are_imported_where_they_are_used(module: Path) -> None:
    early = {n.split(".")[0] for n, at_once in imports_of(module) if at_once}
    assert not early & OPTIONAL, f"{sorted(early & OPTIONAL)} must be imported in a function"


@pytest.mark.parametrize("module", MODULES, ids=name)
def test_only_the_command_line_speaks_click_and_rich(module: Path) -> None:
    used = {n.split(".")[0] for n, _ in imports_of(module)}
    if room(module) != "cli":
        assert not used & {"click", "rich"}


@pytest.mark.parametrize("module", MODULES, ids=name)
def test_numbers_of_the_command_line_are_numbers(module: Path) -> None:
    """Not NaN nor infinite, which click's own types take."""
    attributes = (
        n for n in ast.walk(ast.parse(module.read_text())) if isinstance(n, ast.Attribute)
    )
    loose = {ast.unparse(a) for a in attributes} & {"click.FloatRange", "click.FLOAT"}
    assert not loose or name(module) == "cli/numbers.py", "edgefaced.cli.numbers.NumberRange"


@pytest.mark.parametrize("module", MODULES, ids=name)
def test_modules_are_short_and_rooms_have_names(module: Path) -> None:
    assert len(module.read_text().splitlines()) <= 400, "one idea each"
    assert module.stem not in {"util", "utils", "common", "helper", "helpers", "misc"}


@pytest.mark.parametrize("module", MODULES, ids=name)
def test_no_broad_except_and_no_finaliser(module: Path) -> None:
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.ExceptHandler):
            caught = ast.unparse(node.type) if node.type else ""
            reraises = any(isinstance(n, ast.Raise) and n.exc is None for n in ast.walk(node))
            broad = caught in {"", "Exception", "BaseException"}
            assert reraises or not broad or name(module) == STAGE_WRAPPER
        assert not (isinstance(node, ast.FunctionDef) and node.name == "__del__")


def test_the_table_names_real_rooms() -> None:
    rooms = {room(m) for m in MODULES}
    assert set(ALLOWED) <= rooms | {"enrolment"}


def test_the_reader_sees_late_and_early_imports() -> None:
    source = "import a\nfrom b.c import d\ndef f() -> None:\n    import e\n"
    assert list(imports(ast.parse(source))) == [("a", True), ("b.c", True), ("e", False)]
