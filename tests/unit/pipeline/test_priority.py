"""One thread goes first and no other is touched; where it may not, it runs all the same."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

from edgefaced.pipeline.priority import STEPS, go_first

REFUSED = """
import os, resource
from edgefaced.pipeline.priority import go_first
resource.setrlimit(resource.RLIMIT_NICE, (0, 0))
os.getuid() or os.setuid(65534)
before = os.getpriority(os.PRIO_PROCESS, 0)
print(go_first(), os.getpriority(os.PRIO_PROCESS, 0) == before)
"""


def test_only_the_calling_thread_is_raised_where_that_is_allowed() -> None:
    before = os.getpriority(os.PRIO_PROCESS, 0)
    seen: list[tuple[bool, int]] = []
    thread = threading.Thread(
        target=lambda: seen.append(
            (go_first(), os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
        )
    )
    thread.start()
    thread.join()
    ((allowed, niceness),) = seen
    assert niceness == (max(before - STEPS, -20) if allowed else before)
    assert os.getpriority(os.PRIO_PROCESS, 0) == before


def test_a_refusal_changes_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-c", REFUSED], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True"]
