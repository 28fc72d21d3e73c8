"""Runs a command and prints what it used: run as a process of its own by `start.py`.

A process begins its life with the peak memory of the one that starts it, so that one has to be
small: nothing but the standard library here.
"""

import json
import os
import subprocess
import sys
import time


def main() -> None:
    start = time.perf_counter_ns()
    process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall_ns = time.perf_counter_ns() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    report = {
        "status": process.returncode,
        "wall_ms": wall_ns / 1e6,
        "cpu_ms": (usage.ru_utime + usage.ru_stime) * 1e3,
        "peak_rss_bytes": usage.ru_maxrss * 1024,  # Linux gives kilobytes
    }
    print(json.dumps(report))  # noqa: T201 - to the process that started this one


if __name__ == "__main__":
    main()
