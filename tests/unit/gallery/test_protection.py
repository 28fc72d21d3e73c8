"""Encryption: what is sealed for one place opens nowhere else."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgefaced.errors import GalleryDamaged, KeyWrong
from edgefaced.gallery.protection import Place, Protection, subkey

MASTER, OTHER = bytes(range(32)), bytes(range(1, 33))
ID = b"0123456789abcdef"
PLACE = Place("templates.vector", 7, "person-a", "sface")


@given(st.binary(max_size=300))
def test_what_is_sealed_opens_again(plain: bytes) -> None:
    protection = Protection(MASTER, ID)
    sealed = protection.seal(plain, PLACE)
    assert Protection(MASTER, ID).open(sealed, PLACE) == plain
    assert len(sealed) == len(plain) + 28
    assert plain not in sealed or len(plain) < 4


def test_two_seals_differ() -> None:
    protection = Protection(MASTER, ID)
    assert protection.seal(b"x", PLACE) != protection.seal(b"x", PLACE)


@pytest.mark.parametrize(
    "elsewhere",
    [
        replace(PLACE, column="pictures.picture"),
        replace(PLACE, row=8),
        replace(PLACE, person_id="person-b"),
        replace(PLACE, model_id="mobilefacenet"),
        replace(PLACE, person_id="person-asface", model_id=""),
    ],
)
def test_a_record_moved_elsewhere_is_damaged(elsewhere: Place) -> None:
    protection = Protection(MASTER, ID)
    with pytest.raises(GalleryDamaged, match=f"row {elsewhere.row} of {elsewhere.column}"):
        protection.open(protection.seal(b"vector", PLACE), elsewhere)


@given(st.integers(0, 8 * 34 - 1))
def test_one_flipped_bit_is_damage(bit: int) -> None:
    protection = Protection(MASTER, ID)
    sealed = bytearray(protection.seal(b"vector", PLACE))
    sealed[bit // 8] ^= 1 << bit % 8
    with pytest.raises(GalleryDamaged):
        protection.open(bytes(sealed), PLACE)


@pytest.mark.parametrize("length", [0, 1, 11, 12, 27, 28, 33])
def test_a_record_cut_off_is_damage(length: int) -> None:
    protection = Protection(MASTER, ID)
    with pytest.raises(GalleryDamaged):
        protection.open(protection.seal(b"vector", PLACE)[:length], PLACE)


@pytest.mark.parametrize(("master", "salt"), [(OTHER, ID), (MASTER, b"another gallery!")])
def test_the_key_check_tells_another_key(master: bytes, salt: bytes) -> None:
    check = Protection(MASTER, ID).key_check()
    Protection(MASTER, ID).verify(check)
    with pytest.raises(KeyWrong, match="does not open this gallery"):
        Protection(master, salt).verify(check)


def test_names_are_found_by_key_only() -> None:
    one, two = Protection(MASTER, ID), Protection(OTHER, ID)
    assert one.name_lookup("Ann") == one.name_lookup(" ANN")
    assert one.name_lookup("Ann") != one.name_lookup("Anna")
    assert one.name_lookup("Ann") != two.name_lookup("Ann")
    assert len(one.name_lookup("Ann")) == 32


def test_no_key_serves_two_purposes() -> None:
    purposes = ["encrypt", "name-lookup", "export", "export check"]
    assert len({subkey(MASTER, ID, purpose) for purpose in purposes}) == len(purposes)
    assert MASTER not in {subkey(MASTER, ID, purpose) for purpose in purposes}


def test_subkeys_are_hkdf_sha256() -> None:
    # RFC 5869 written out: extract, then one block of expand.
    import hashlib
    import hmac

    extracted = hmac.digest(ID, MASTER, hashlib.sha256)
    expanded = hmac.digest(extracted, b"edgefaced gallery 1 encrypt" + b"\x01", hashlib.sha256)
    assert subkey(MASTER, ID, "encrypt") == expanded
