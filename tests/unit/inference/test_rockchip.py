"""The board's NPU by its files: chip, cores, versions of library and driver."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgefaced.inference.rockchip import chip_of, find_npu, is_older, library_version


def lay(root: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root


@pytest.mark.parametrize(
    ("compatible", "target", "cores"),
    [
        (b"radxa,rock-5b\0rockchip,rk3588\0", "rk3588", 3),
        (b"xunlong,orangepi-5\0rockchip,rk3588s\0", "rk3588", 3),
        (b"friendlyarm,nanopi-m5\0rockchip,rk3576\0", "rk3576", 2),
        (b"radxa,zero-3w\0rockchip,rk3566\0", "rk3566", 1),
        (b"hardkernel,odroid-m1\0rockchip,rk3568\0", "rk3566", 1),
    ],
)
def test_the_chip_is_in_the_device_tree(
    tmp_path: Path, compatible: bytes, target: str, cores: int
) -> None:
    found = find_npu(lay(tmp_path, {"proc/device-tree/compatible": compatible}))
    assert found is not None
    assert (found.target, found.cores) == (target, cores)
    assert (found.library, found.runtime, found.driver) == (None, None, None)


@pytest.mark.parametrize("compatible", [b"raspberrypi,5-model-b\0brcm,bcm2712\0", b"", b"\xff\0,"])
def test_other_boards_have_none(tmp_path: Path, compatible: bytes) -> None:
    assert find_npu(lay(tmp_path, {"proc/device-tree/compatible": compatible})) is None


def test_a_machine_without_a_device_tree_has_none(tmp_path: Path) -> None:
    assert find_npu(tmp_path) is None


def test_versions_are_read_from_files(tmp_path: Path) -> None:
    root = lay(
        tmp_path,
        {
            "proc/device-tree/compatible": b"rockchip,rk3588\0",
            "usr/lib/librknnrt.so": bytes(5000) + b"librknnrt version: 1.6.0 (9a7b5d24c@2023)\0",
            "sys/kernel/debug/rknpu/version": b"RKNPU driver: v0.9.8\n",
        },
    )
    found = find_npu(root)
    assert found is not None
    assert (found.runtime, found.driver) == ("1.6.0", "0.9.8")


@pytest.mark.parametrize("content", [b"", b"\x7fELF no version in here"])
def test_a_library_that_says_no_version(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "lib.so").write_bytes(content)
    assert library_version(tmp_path / "lib.so") is None
    assert library_version(tmp_path / "absent.so") is None


@pytest.mark.parametrize(
    ("version", "needed", "older"),
    [
        ("1.6.0", "2.3.0", True),
        ("2.3.0", "2.3", False),
        ("2.3", "2.3.0", False),
        ("2.3.0 (c949ad889d@2024-11-07)", "2.3.2", True),
        ("2.10.0", "2.9.9", False),
        ("v0.9.8", "0.9.6", False),
        ("1.2.1b5", "1.2.2", True),
        ("2", "2.0.1", True),
    ],
)
def test_versions_are_compared_by_their_numbers(version: str, needed: str, older: bool) -> None:
    assert is_older(version, needed) is older


def test_the_first_known_chip_counts() -> None:
    assert chip_of("rockchip,rk3588s-evb\0rockchip,rk3588s\0rockchip,rk3588\0") == "rk3588s"
