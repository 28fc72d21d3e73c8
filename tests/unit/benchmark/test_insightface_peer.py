"""Which packs the insightface package can run, and what is said where it is not installed."""

import sys
from pathlib import Path

import pytest

from edgefaced.benchmark.insightface_peer import check_pack, open_insightface
from edgefaced.errors import DependencyMissing, UsageError
from edgefaced.models.catalogue import find_pack
from edgefaced.models.store import ModelStore


def test_its_own_small_pack_is_fit() -> None:
    check_pack(find_pack("buffalo-sc"))


@pytest.mark.parametrize("pack", ["reference", "commercial", "mobilefacenet"])
def test_networks_that_it_would_feed_something_else_are_refused(pack: str) -> None:
    with pytest.raises(UsageError, match=f"cannot run the networks of pack {pack}"):
        check_pack(find_pack(pack))


def test_without_the_package_the_way_out_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "insightface", None)
    with pytest.raises(DependencyMissing, match="pip install insightface"):
        open_insightface(
            ModelStore(tmp_path), find_pack("buffalo-sc"), tmp_path, size=320, threads=None
        )
