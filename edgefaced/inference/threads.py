"""How many cores this process may really use."""

from __future__ import annotations

import math
import os
from pathlib import Path

MOST_THREADS = 4
"""More threads than this do not make networks of this size faster."""


CGROUP_V2 = Path("sys/fs/cgroup")
CGROUP_V1 = Path("sys/fs/cgroup/cpu")
OWN_CGROUP = Path("proc/self/cgroup")


def usable_cores() -> int:
    """Cores by affinity, and by the CPU quota of the control group where one is set; at least 1."""
    cores = len(os.sched_getaffinity(0))
    quota = cpu_quota(Path("/"))
    return cores if quota is None else max(1, min(cores, math.ceil(quota)))


def default_threads() -> int:
    """Threads for one network where the configuration does not say."""
    return min(MOST_THREADS, usable_cores())


def cpu_quota(root: Path) -> float | None:
    """The tightest CPU quota of this process's control groups, in cores; None without one.

    `root` is the folder that holds proc and sys.
    """
    groups = group_paths(_read(root / OWN_CGROUP))
    quotas: list[float] = []
    for folder in _lineage(root / CGROUP_V2, groups.get("", "/")):
        quotas += _known(parse_v2(_read(folder / "cpu.max")))
    for folder in _lineage(root / CGROUP_V1, groups.get("cpu", "/")):
        quota, period = _read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us")
        quotas += _known(parse_v1(quota, period))
    return min(quotas, default=None)


def group_paths(text: str) -> dict[str, str]:
    """Path of the process's group by controller, "" for version 2; text of /proc/self/cgroup."""
    paths: dict[str, str] = {}
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2) if line.count(":") >= 2 else ("", "-", "")
        paths.update((controller, path) for controller in controllers.split(","))
    return paths


def parse_v2(text: str) -> float | None:
    """Cores from a cpu.max: "150000 100000" is 1.5, "max 100000" none."""
    quota, _, period = text.strip().partition(" ")
    return parse_v1(quota, period)


def parse_v1(quota: str, period: str) -> float | None:
    """Cores from the quota and the period in microseconds; None for no quota (-1) or no numbers."""
    if not (quota.strip().isdecimal() and period.strip().isdecimal() and int(period) > 0):
        return None
    return int(quota) / int(period)


def _lineage(mount: Path, group: str) -> list[Path]:
    """The group's folder and its parents up to the mount: a quota anywhere above binds as well."""
    folder = mount / group.lstrip("/")
    inside = [folder, *folder.parents]
    # In a container the path may lie outside what is mounted there: then the mount is the group.
    return inside[: inside.index(mount) + 1] if ".." not in folder.parts else [mount]


def _known(quota: float | None) -> list[float]:
    return [] if quota is None else [quota]


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
