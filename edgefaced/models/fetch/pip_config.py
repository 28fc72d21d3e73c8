"""Where this person's packages come from: their pip configuration and PIP_* environment."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

DEFAULT_TIMEOUT_SECONDS = 15.0
LONGEST_TIMEOUT_SECONDS = 86_400.0
DEFAULT_RETRIES = 5
# pip's own order: a later one wins.
SECTIONS = ("global", "install", "download", ":env:")
ALIASES = {"default-timeout": "timeout", "pypi-url": "index-url"}
NO = ("0", "no", "off", "false", "f", "n", "")


@dataclass(frozen=True, slots=True)
class PipConfig:
    """What of pip's configuration matters to a download. Lists are in order of preference.

    `index_url` None means the default index of the Python world.
    """

    index_url: str | None = None
    extra_index_urls: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    no_index: bool = False
    proxy: str | None = None
    cert: Path | None = None
    client_cert: Path | None = None
    trusted_hosts: tuple[str, ...] = ()
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    retries: int = DEFAULT_RETRIES


def pip_config_of_this_process() -> PipConfig:
    """Asks pip for its merged configuration; without a pip, the PIP_* environment alone."""
    try:
        # -P: a pip.py of the current folder is not what is meant.
        answer = subprocess.run(
            [sys.executable, "-P", "-m", "pip", "--disable-pip-version-check", "config", "list"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return from_environment(os.environ)
    return from_listing(answer.stdout.splitlines())


def from_listing(lines: Iterable[str]) -> PipConfig:
    """Reads `pip config list`: `section.key='value'` in Python's notation, one a line."""
    by_section: dict[str, dict[str, str]] = {section: {} for section in SECTIONS}
    for line in lines:
        name, equals, literal = line.partition("=")
        section, dot, key = name.strip().partition(".")
        if not equals or not dot or section not in by_section:
            continue
        try:
            value = ast.literal_eval(literal.strip())
        except (ValueError, SyntaxError):
            continue
        if value:
            by_section[section][_key(key)] = str(value)
    merged: dict[str, str] = {}
    for section in SECTIONS:
        merged |= by_section[section]
    return _from_values(merged)


def from_environment(environment: Mapping[str, str]) -> PipConfig:
    """Reads PIP_INDEX_URL and its kind."""
    return _from_values(
        {
            _key(name.removeprefix("PIP_")): value
            for name, value in environment.items()
            if name.startswith("PIP_") and value
        }
    )


def _key(name: str) -> str:
    key = name.lower().replace("_", "-")
    return ALIASES.get(key, key)


def _from_values(values: Mapping[str, str]) -> PipConfig:
    def words(key: str) -> tuple[str, ...]:
        return tuple(values.get(key, "").split())

    def path(key: str) -> Path | None:
        return Path(values[key]).expanduser() if values.get(key) else None

    return PipConfig(
        index_url=values.get("index-url") or None,
        extra_index_urls=words("extra-index-url"),
        find_links=words("find-links"),
        no_index=values.get("no-index", "").strip().lower() not in NO,
        proxy=values.get("proxy") or None,
        cert=path("cert"),
        client_cert=path("client-cert"),
        trusted_hosts=words("trusted-host"),
        timeout_seconds=_number(values.get("timeout")) or DEFAULT_TIMEOUT_SECONDS,
        retries=DEFAULT_RETRIES if (n := _number(values.get("retries"))) is None else int(n),
    )


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number <= LONGEST_TIMEOUT_SECONDS else None
