"""Every happening goes into the ledger and comes out the same."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime
from typing import Any, get_args, get_type_hints

import pytest
from happenings import HAPPENINGS
from hypothesis import given
from hypothesis import strategies as st
from ledgers import ANN, event, seen

from edgefaced.errors import LedgerDamaged
from edgefaced.events import Event, FaceLeft, Happening, Trouble, Unknown
from edgefaced.ledger.codec import KINDS, decode, encode, kind_of, person_in
from edgefaced.sinks.shape import document, person_of

utc_times = (
    st.datetimes(timezones=st.just(UTC))
    .filter(lambda moment: 2 < moment.year < 9998)
    .map(lambda moment: moment.replace(fold=0))
)
numbers = st.integers(-(2**63), 2**63 - 1)
KNOWN: dict[Any, st.SearchStrategy[Any]] = {
    int: numbers,
    int | None: st.none() | numbers,
    datetime | None: st.none() | utc_times,
}


def any_of(made: type[Happening]) -> st.SearchStrategy[Happening]:
    hints = get_type_hints(made)
    return st.builds(made, **{name: KNOWN[kind] for name, kind in hints.items() if kind in KNOWN})


happenings = st.one_of(*map(any_of, KINDS.values()))
moments = st.builds(
    Event,
    happening=happenings,
    camera=st.text(),
    id=st.uuids().map(str),
    utc=utc_times,
    monotonic_ns=st.integers(0, 2**63 - 1),
    boot_id=st.text(),
    synchronised=st.booleans(),
    utc_offset_seconds=st.integers(-86_399, 86_399),
)


@given(moments)
def test_what_is_encoded_is_decoded_again(original: Event) -> None:
    body = encode(original)
    again = decode(body)
    # By their representation: NaN is not equal to itself.
    assert repr(again) == repr(original)
    assert encode(again) == body, "canonical"
    assert body.isascii()


def test_every_happening_has_a_kind_and_that_of_its_document() -> None:
    assert set(KINDS.values()) | {Unknown} == set(get_args(Happening))
    for happening in HAPPENINGS:
        if not isinstance(happening, Unknown):
            made = event(happening)
            assert kind_of(made) == document(made)["type"]


def test_texts_of_any_bytes_survive() -> None:
    for happening in HAPPENINGS:
        if not isinstance(happening, Unknown):
            made = event(happening)
            assert repr(decode(encode(made))) == repr(made)


def test_the_person_of_a_record_is_that_of_its_document() -> None:
    for happening in HAPPENINGS:
        assert person_in(event(happening)) == person_of(event(happening))
    assert person_in(event(seen(None))) is None
    assert person_in(event(FaceLeft(1, None, 2.0))) is None


def test_recorded_is_no_part_of_it() -> None:
    made = dataclasses.replace(event(), recorded=False)
    assert decode(encode(made)).recorded


def test_a_kind_of_a_newer_version_is_kept_as_it_is() -> None:
    table = json.loads(encode(event()))
    table |= {"kind": "levitation", "version": 9, "what": {"metres": 3}}
    body = json.dumps(table, sort_keys=True, separators=(",", ":")).encode()
    found = decode(body)
    assert found.happening == Unknown("levitation", body.decode())
    assert encode(found) == body
    assert kind_of(found) == "levitation"


def test_a_field_of_a_newer_version_is_passed_over_and_a_missing_one_has_its_default() -> None:
    table = json.loads(encode(event(Trouble("disk", "full"))))
    table["what"]["colour"] = "red"
    assert decode(json.dumps(table).encode()).happening == Trouble("disk", "full")
    table["version"], table["what"] = 9, {"where": 7}
    assert isinstance(decode(json.dumps(table).encode()).happening, Unknown)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"[]",
        b"\xff",
        b'{"kind": 3}',
        encode(event()).replace(b'"track_id":1', b'"track_id":"1"'),
        encode(event()).replace(b'"known"', b'"beloved"'),
        encode(event()).replace(b'"reason"', b'"raison"'),
        encode(event()).replace(b'"what":{', b'"what":[]}').split(b"[]}")[0] + b"[]}",
        encode(event()).replace(b'"2026-', b'"x-'),
        encode(event()).replace(b"+00:00", b""),
        encode(event()).replace(b'"2026-', b'"0001-'),
        encode(event()).replace(b'"2026-', b'"9999-'),
        encode(event()).replace(b'"utc_offset_seconds":', b'"utc_offset_seconds":999999'),
        encode(event()).replace(b'"utc_offset_seconds":', b'"utc_offset_seconds":9' + b"9" * 400),
        encode(event()).replace(b'"monotonic_ns":', b'"monotonic_ns":9' + b"9" * 40),
        encode(event()).replace(b'"captured_ns":', b'"captured_ns":9' + b"9" * 400),
        encode(event(seen())).replace(b'"score":0.', b'"score":9' + b"9" * 400),
        b"[" * 100_000,
    ],
)
def test_what_is_no_record_is_said(body: bytes) -> None:
    assert body not in (encode(event()), encode(event(seen()))), "it was edited"
    with pytest.raises(LedgerDamaged):
        decode(body)


def test_only_what_has_a_form_is_encoded() -> None:
    with pytest.raises(TypeError, match="no form"):
        encode(event(Trouble("x", object())))  # type: ignore[arg-type]  # on purpose
    assert ANN in encode(event(seen())).decode()
