"""Fixtures of every test: where real data is, and folders that belong to the test alone."""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

import edgefaced  # noqa: F401 - turns onnxruntime's telemetry off before any test loads it
from edgefaced.config.places import places_of_this_process

# No test asserts a time, so no example has a deadline; in CI the examples are the same every time.
settings.register_profile("house", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "house")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Started in a shell's background: programs that a test interrupts would inherit the deafness.
    signal.signal(signal.SIGINT, signal.default_int_handler)


OWN_MODELS = places_of_this_process().models_dir
ELSEWHERE = ("EDGEFACED_KEY_FILE", "EDGEFACED_RUNTIME_DIR", "CREDENTIALS_DIRECTORY")


@pytest.fixture(scope="session")
def own_models() -> Path:
    """The models folder of whoever runs the tests, for those of their board; only to be read."""
    return OWN_MODELS


@pytest.fixture(scope="session", autouse=True)
def nobodys_places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """People, ledger, models and configuration of whoever runs the tests are not touched, nor read.

    Not by programs that a test starts, either: they have the environment of this process.
    """
    folder = tmp_path_factory.mktemp("places")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EDGEFACED_CONFIG", str(folder / "edgefaced.toml"))
        patch.setenv("EDGEFACED_STATE_DIR", str(folder / "state"))
        patch.setenv("EDGEFACED_MODELS_DIR", str(folder / "models"))
        for name in ELSEWHERE:
            patch.delenv(name, raising=False)
        yield


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder with evaluation pictures and models; skips where this machine has none."""
    named = os.environ.get("EDGEFACED_TEST_DATA")
    checkout = Path(__file__).resolve().parents[1]
    folder = Path(named) if named else checkout.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no evaluation data here: set EDGEFACED_TEST_DATA to a folder that has it")
    return folder


@pytest.fixture
def own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Moves configuration, gallery and models of this process into a folder of the test's."""
    monkeypatch.setenv("EDGEFACED_CONFIG", str(tmp_path / "edgefaced.toml"))
    monkeypatch.setenv("EDGEFACED_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("EDGEFACED_MODELS_DIR", str(tmp_path / "models"))
    return tmp_path


def open_files() -> set[str]:
    """Regular files, sockets and pipes this process holds open, as "descriptor -> target"."""
    held = set()
    for link in Path("/proc/self/fd").iterdir():
        try:
            target = str(link.readlink())
        except FileNotFoundError:  # the descriptor of this very listing
            continue
        if not target.startswith(("/dev/", "/proc/", "anon_inode:")):
            held.add(f"{link.name} -> {target}")
    return held


@pytest.fixture(autouse=True)
def nothing_leaks() -> Iterator[None]:
    """No test leaves a thread running or a file open."""
    threads, files = set(threading.enumerate()), open_files()
    yield
    left = [t.name for t in threading.enumerate() if t not in threads and t.is_alive()]
    assert not left, f"threads left running: {left}"
    if open_files() - files:
        gc.collect()  # what only waits for the collector would be a ResourceWarning there
        assert not open_files() - files, f"files left open: {open_files() - files}"
