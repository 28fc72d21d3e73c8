"""pip's configuration, as pip itself lists it and as the environment has it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pypi_simple import PYPI_SIMPLE_ENDPOINT

from edgefaced.models.fetch.index import Index, Links, places
from edgefaced.models.fetch.pip_config import (
    PipConfig,
    from_environment,
    from_listing,
    pip_config_of_this_process,
)

LISTING = r"""
:env:.default-timeout='60'
:env:.find-links='/srv/wheels file:///srv/more'
global.cert='/etc/ssl/own.pem'
global.extra-index-url='\nhttps://one.invalid/simple\nhttps://two.invalid/simple'
global.find-links='/overruled'
global.index-url='https://me:p=w@index.invalid/simple'
install.trusted-host='one.invalid two.invalid:8443'
download.no-index='false'
global.proxy='http://proxy.invalid:3128'
global.client-cert='~/me.pem'
global.retries='0'
wheel.index-url='https://not-for-us.invalid/'
global.mangled=not a literal
a line that is no setting
"""


def test_what_pip_lists_is_understood() -> None:
    assert from_listing(LISTING.splitlines()) == PipConfig(
        index_url="https://me:p=w@index.invalid/simple",
        extra_index_urls=("https://one.invalid/simple", "https://two.invalid/simple"),
        find_links=("/srv/wheels", "file:///srv/more"),
        no_index=False,
        proxy="http://proxy.invalid:3128",
        cert=Path("/etc/ssl/own.pem"),
        client_cert=Path.home() / "me.pem",
        trusted_hosts=("one.invalid", "two.invalid:8443"),
        timeout_seconds=60.0,
        retries=0,
    )


def test_nothing_configured_is_pips_defaults() -> None:
    assert from_listing([]) == PipConfig() == from_environment({"PATH": "/bin"})


@pytest.mark.parametrize("text", ["soon", "-1", "nan", "inf", "", "0"])
def test_a_time_out_that_is_none_is_the_default(text: str) -> None:
    config = from_environment({"PIP_TIMEOUT": text})
    assert config.timeout_seconds == PipConfig().timeout_seconds


@pytest.mark.parametrize(
    ("text", "meant"), [("1", True), ("true", True), ("on", True), ("0", False), ("No", False)]
)
def test_no_index_is_read_as_pip_reads_it(text: str, meant: bool) -> None:
    assert from_environment({"PIP_NO_INDEX": text}).no_index is meant


def test_an_empty_variable_says_nothing() -> None:
    lines = ["global.proxy='http://proxy.invalid'", ":env:.proxy=''"]
    assert from_listing(lines).proxy == "http://proxy.invalid"


def test_pip_itself_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "pip.conf"
    file.write_text(
        "[global]\nindex-url = https://index.invalid/simple\nextra-index-url =\n  a\n  b\n"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(file))
    monkeypatch.setenv("PIP_FIND_LINKS", f"{tmp_path} /other")
    monkeypatch.setenv("PIP_RETRIES", "1")
    config = pip_config_of_this_process()
    assert config.index_url == "https://index.invalid/simple"
    assert config.find_links == (str(tmp_path), "/other")
    assert config.retries == 1


@pytest.mark.parametrize("interpreter", ["/nowhere/python", "/bin/false"])
def test_without_a_pip_the_environment_speaks(
    interpreter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", interpreter)
    monkeypatch.setenv("PIP_INDEX_URL", "https://index.invalid/simple")
    assert pip_config_of_this_process().index_url == "https://index.invalid/simple"


def test_a_pip_of_the_current_folder_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pip.py").write_text("open('ran', 'w')")
    monkeypatch.chdir(tmp_path)
    pip_config_of_this_process()
    assert not (tmp_path / "ran").exists()


def test_the_default_index_is_the_index_clients_own() -> None:
    assert places(PipConfig()) == [Index(PYPI_SIMPLE_ENDPOINT)]


def test_local_places_come_first_and_the_rest_in_their_order() -> None:
    config = PipConfig(
        index_url="https://a.invalid/",
        extra_index_urls=("file:///srv/index", "https://b.invalid/"),
        find_links=("https://c.invalid/links", "/srv/wheels"),
    )
    assert places(config) == [
        Links("/srv/wheels"),
        Index("file:///srv/index"),
        Links("https://c.invalid/links"),
        Index("https://a.invalid/"),
        Index("https://b.invalid/"),
    ]


def test_no_index_leaves_the_folders() -> None:
    config = PipConfig(index_url="https://a.invalid/", find_links=("/srv",), no_index=True)
    assert places(config) == [Links("/srv")]
