from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgefaced.inference.threads import (
    MOST_THREADS,
    cpu_quota,
    default_threads,
    group_paths,
    parse_v1,
    parse_v2,
    usable_cores,
)


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize(
    ("text", "cores"),
    [
        ("150000 100000\n", 1.5),
        ("50000 100000\n", 0.5),
        ("max 100000\n", None),
        ("", None),
        ("nonsense", None),
        ("100000 0", None),
    ],
)
def test_cpu_max_of_version_2(text: str, cores: float | None) -> None:
    assert parse_v2(text) == cores


@pytest.mark.parametrize(
    ("quota", "period", "cores"),
    [("200000\n", "100000\n", 2.0), ("-1\n", "100000\n", None), ("", "", None), ("5", "x", None)],
)
def test_cfs_files_of_version_1(quota: str, period: str, cores: float | None) -> None:
    assert parse_v1(quota, period) == cores


def test_group_paths_of_both_versions() -> None:
    text = (
        "12:cpu,cpuacct:/docker/ab:c\n1:name=systemd:/x\n0::/system.slice/edgefaced.service\nbad\n"
    )
    paths = group_paths(text)
    assert paths["cpu"] == "/docker/ab:c"
    assert paths[""] == "/system.slice/edgefaced.service"


@given(st.text())
def test_any_text_is_parsed_without_complaint(text: str) -> None:
    group_paths(text)
    parse_v2(text)


def test_a_service_with_a_quota(tmp_path: Path) -> None:
    root = tree(
        tmp_path,
        {
            "proc/self/cgroup": "0::/system.slice/edgefaced.service\n",
            "sys/fs/cgroup/system.slice/cpu.max": "max 100000\n",
            "sys/fs/cgroup/system.slice/edgefaced.service/cpu.max": "150000 100000\n",
        },
    )
    assert cpu_quota(root) == 1.5


def test_a_quota_of_a_group_above_binds_as_well(tmp_path: Path) -> None:
    root = tree(
        tmp_path,
        {
            "proc/self/cgroup": "0::/a/b\n",
            "sys/fs/cgroup/a/cpu.max": "100000 100000\n",
            "sys/fs/cgroup/a/b/cpu.max": "300000 100000\n",
        },
    )
    assert cpu_quota(root) == 1.0


def test_a_container_sees_its_own_group_as_the_mount(tmp_path: Path) -> None:
    root = tree(
        tmp_path,
        {
            "proc/self/cgroup": "0::/../../kubepods/pod1\n",
            "sys/fs/cgroup/cpu.max": "250000 100000\n",
        },
    )
    assert cpu_quota(root) == 2.5


def test_a_version_1_container_whose_path_is_the_hosts(tmp_path: Path) -> None:
    root = tree(
        tmp_path,
        {
            "proc/self/cgroup": "4:cpu,cpuacct:/docker/0123\n",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "50000\n",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
        },
    )
    assert cpu_quota(root) == 0.5


def test_no_groups_no_quota(tmp_path: Path) -> None:
    assert cpu_quota(tmp_path) is None


def test_this_process_may_use_a_core_and_no_more_than_its_affinity() -> None:
    assert 1 <= usable_cores() <= len(os.sched_getaffinity(0))
    assert default_threads() == min(MOST_THREADS, usable_cores())


def test_affinity_counts() -> None:
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert usable_cores() == 1
    finally:
        os.sched_setaffinity(0, allowed)
