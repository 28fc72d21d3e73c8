"""A configuration as text: read again it is the same, and each key has its comment."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgefaced.config.settings import Settings
from edgefaced.errors import UsageError
from edgefaced.service.units import sample_configuration
from edgefaced.setup.commented import commented

SAMPLE = sample_configuration()
EVERYTHING = tomllib.loads(re.sub(r"^# (\w+ = )", r"\1", SAMPLE, flags=re.MULTILINE))


def text_of(table: dict[str, Any]) -> str:
    return commented(table, SAMPLE, "By hand.\nAgain.")


def test_every_key_of_the_sample_comes_back_with_its_comments() -> None:
    text = text_of(EVERYTHING)
    assert tomllib.loads(text) == {name: keys for name, keys in EVERYTHING.items() if keys}
    assert text.startswith("# By hand.\n# Again.\n\n[camera]\n")
    quality = SAMPLE.split("[quality]")[1].split("\n\n")[0]
    assert all(line in text for line in quality.splitlines() if " = " not in line)
    for table in (Settings(), Settings.model_validate(EVERYTHING)):
        written = table.model_dump(mode="json", exclude_defaults=True)
        assert tomllib.loads(text_of(written)) == written


def test_what_is_not_set_is_not_there() -> None:
    assert text_of({"models": {"pack": "commercial"}, "camera": {}}) == (
        "# By hand.\n# Again.\n\n[models]\n"
        "# Which model pack: see `edgefaced models list`. "
        'A product may ship "commercial" only.\npack = "commercial"\n'
    )


def test_keys_that_share_a_comment_have_it_once() -> None:
    text = text_of({"camera": {"height_px": 480, "width_px": 640}})
    assert text.count("# What to ask for") == 1
    assert text.index("width_px") < text.index("height_px"), "in the order of the sample"


def test_doors_groups_and_schedules_are_explained() -> None:
    door = {"chip": "pins", "relay_line": "4", "liveness": "required", "held_open_seconds": 5.5}
    text = text_of(
        {
            "doors": {"front": door, "back": {"pulse_ms": 500}},
            "groups": {'the "staff"': {"doors": ["front"], "schedule": "day"}},
            "schedules": {"day": {"weekly": ["daily 07:00-18:00"]}},
        }
    )
    assert text.count("# A table for each door.") == 1
    assert "# active while the lock is open: use a strike that needs power to open\nrelay" in text
    assert (
        '# "not required": a photograph of somebody allowed may open it.\nliveness = "required"'
    ) in text
    assert '[groups."the \\"staff\\""]' in text
    assert Settings.model_validate(tomllib.loads(text)).doors["front"].held_open_seconds == 5.5


@given(
    st.dictionaries(
        st.text(min_size=1),
        st.recursive(
            st.one_of(
                st.booleans(),
                st.integers(-(2**63), 2**63 - 1),
                st.floats(allow_nan=False),
                st.text(),
            ),
            lambda values: st.one_of(st.lists(values), st.dictionaries(st.text(), values)),
            max_leaves=6,
        ),
        min_size=1,
    )
)
def test_whatever_stands_in_a_table_stands_in_the_text(section: dict[str, Any]) -> None:
    assert tomllib.loads(text_of({"unheard of": section})) == {"unheard of": section}


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(UsageError, match="is no text"):
        text_of({"lines": {"path": "/tmp/\udcff"}})  # noqa: S108 - nothing is written there
