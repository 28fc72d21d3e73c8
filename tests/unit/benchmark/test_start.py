"""Fresh processes and what they use."""

import os
import sys

import pytest

from edgefaced.benchmark.start import run_once
from edgefaced.errors import EdgefacedError


def test_a_run_is_timed_and_its_memory_is_its_own() -> None:
    small = run_once([sys.executable, "-c", ""], os.environ)
    large = run_once([sys.executable, "-c", "x = bytearray(300_000_000)"], os.environ)
    assert small.wall_ms > 0
    assert small.cpu_ms > 0
    assert small.peak_rss_bytes < 100_000_000
    assert large.peak_rss_bytes > 300_000_000


def test_a_run_that_fails_says_what_it_said() -> None:
    code = "import sys; print('first', file=sys.stderr); sys.exit('the last line')"
    with pytest.raises(EdgefacedError, match=r"ended with status 1: the last line"):
        run_once([sys.executable, "-c", code], os.environ)
