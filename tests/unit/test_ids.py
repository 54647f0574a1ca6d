"""Content hashes."""

from __future__ import annotations

import hashlib
import math
import re
from pathlib import Path

import pytest

from magistrate.ids import ID_HEX_DIGITS, canonical_json, content_id, file_sha256


def test_an_id_is_lower_case_hex_of_fixed_length() -> None:
    assert re.fullmatch(rf"[0-9a-f]{{{ID_HEX_DIGITS}}}", content_id("any text"))


def test_ids_do_not_drift_between_versions() -> None:
    # Stored runs are found again by these: a change here makes every old run unusable.
    assert content_id("a") == "cfe4e5ecd1b94e9f7c5a1cfb"
    assert content_id({"q": "é", "n": [1, 2.5, None, True]}) == "150f15febda8b0802c8ecabc"


def test_the_order_of_keys_does_not_matter() -> None:
    assert content_id({"a": 1, "b": {"c": 2, "d": 3}}) == content_id(
        {"b": {"d": 3, "c": 2}, "a": 1}
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1, 2], [2, 1]),
        ("a", "a "),
        ("a", "A"),
        ("", None),
        ("1", 1),
        (1, 1.0),
        (0, False),
        ([], {}),
        (["ab", "c"], ["a", "bc"]),
        ({"a": None}, {}),
        ("e\u0301", "\u00e9"),  # composed and decomposed: a judge's tokenizer sees a difference
        ("\ud800", "\ud801"),
        ("a\ud800", "a"),
        ("\n", "\r\n"),
        ("a\0b", "ab"),
    ],
)
def test_visible_differences_give_different_ids(one: object, other: object) -> None:
    assert content_id(one) != content_id(other)


def test_two_halves_of_one_character_are_that_character() -> None:
    assert content_id("\ud83d\ude00") == content_id("\U0001f600")
    assert content_id("\ude00\ud83d") != content_id("\U0001f600")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_must_be_finite(value: float) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        content_id({"score": value})


def test_objects_without_a_json_form_are_refused() -> None:
    with pytest.raises(TypeError):
        content_id({"when": object()})


def test_canonical_json_has_no_spaces_and_keeps_letters() -> None:
    assert canonical_json({"b": [1, "ü"], "a": 2}) == '{"a":2,"b":[1,"ü"]}'


@pytest.mark.parametrize("size", [0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1])
def test_file_hash_is_the_hash_of_its_bytes(tmp_path: Path, size: int) -> None:
    data = bytes(range(256)) * (size // 256 + 1)
    path = tmp_path / "weights.bin"
    path.write_bytes(data[:size])
    assert file_sha256(path) == hashlib.sha256(data[:size]).hexdigest()
