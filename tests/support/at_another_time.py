"""Runs a command and all that it starts ten years on, by a clock that is kept, in another zone.

    python tests/support/at_another_time.py pytest tests/unit/cli

Where nobody keeps the clock, nothing is old for its age; where somebody does, a test with dates of
its own may be right until they are too old. This shows both on any machine that has a C compiler.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from clock_double import ClockDouble

ZONE = "<-0330>3:30"
"""West of UTC, and not by whole hours."""


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        clock = ClockDouble(Path(folder))
        clock.jump(datetime.now(UTC) + timedelta(days=3653), synchronised=True)
        environment = os.environ | clock.environment | {"TZ": ZONE}
        return subprocess.run(sys.argv[1:], env=environment, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())
