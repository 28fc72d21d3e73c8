"""What else the machine did, read from /proc."""

import os
import threading
import time
from pathlib import Path

import pytest

from edgefaced.benchmark.quiet import (
    TICKS_PER_SECOND,
    Counters,
    Noise,
    Watch,
    counters,
    noise_between,
    running_threads,
    settle,
)


def stat(folder: Path, *ticks: int) -> Path:
    folder.joinpath("stat").write_text(f"cpu  {' '.join(map(str, ticks))}\ncpu0 1 2 3\n")
    return folder


def test_counters_are_seconds_of_all_cores(tmp_path: Path) -> None:
    ticks = [t * TICKS_PER_SECOND for t in (10, 1, 4, 100, 5, 0, 2, 3, 7, 0)]
    read = counters(stat(tmp_path, *ticks))
    # Guest time (the 7) is part of user time.
    assert (read.total, read.idle, read.stolen) == (125, 105, 3)
    assert read.own > 0


def test_a_foreign_stat_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "stat").write_text("intr 1 2 3\n")
    with pytest.raises(ValueError, match="begins with 'intr'"):
        counters(tmp_path)


def test_noise_is_what_neither_idles_nor_is_ours() -> None:
    before = Counters(total=100, idle=50, stolen=1, own=10)
    after = Counters(total=120, idle=55, stolen=3, own=18)
    # 20 s of all cores: 5 idle, 2 stolen, 8 ours, so 5 others'.
    assert noise_between(before, after, 2.5) == Noise(others=0.25, stolen=0.1, load=2.5)


def test_no_time_and_clocks_that_disagree_a_little_are_no_noise() -> None:
    now = Counters(total=100, idle=50, stolen=1, own=10)
    assert noise_between(now, now, 0.5) == Noise(others=0, stolen=0, load=0.5)
    later = Counters(total=101, idle=50, stolen=1, own=11.02)
    assert noise_between(now, later, 0.5).others == 0


def test_a_watch_sees_our_own_work_as_ours() -> None:
    watch = Watch()
    deadline = time.process_time() + 0.2
    while time.process_time() < deadline:
        pass
    noise = watch.noise()
    assert 0 <= noise.others <= 1
    assert noise.stolen <= 1
    assert noise.load >= 0


def test_running_threads_are_those_in_state_r(tmp_path: Path) -> None:
    own = threading.get_native_id()
    for number, state in ((own, "R"), (own + 1, "S"), (own + 2, "R"), (own + 3, "D")):
        task = tmp_path / str(number)
        task.mkdir()
        task.joinpath("stat").write_text(f"{number} (a name) with ) R) {state} 1 2 3\n")
    (tmp_path / str(own + 4)).mkdir()  # ended between listing and reading
    assert running_threads(tmp_path) == 1


def test_a_thread_that_ends_between_opening_and_reading_does_not_run(tmp_path: Path) -> None:
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    mine = Path(f"/proc/self/task/{thread.native_id}")
    held = os.open(mine / "stat", os.O_RDONLY)
    done.set()
    thread.join()
    while mine.exists():  # Python lets go of a thread a little before the kernel does
        time.sleep(0.001)
    try:
        task = tmp_path / "1"
        task.mkdir()
        # Opens what is still there, and reads what is not: the kernel says ESRCH, not ENOENT.
        (task / "stat").symlink_to(f"/proc/self/fd/{held}")
        assert running_threads(tmp_path) == 0
    finally:
        os.close(held)


def test_settle_waits_for_a_busy_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgefaced.benchmark.quiet.LONGEST_SETTLE_S", 60.0)
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            pass

    thread = threading.Thread(target=work)
    thread.start()
    try:
        seen = running_threads()
        timer = threading.Timer(0.05, stop.set)
        timer.start()
        settle()
        assert seen >= 1
        assert stop.is_set()
    finally:
        stop.set()
        thread.join()
        timer.join()
