"""Folding, neutralising and defusing, on texts made of markers, disguises and noise."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from magistrate.prompts.folding import fold, fold_with_places
from magistrate.prompts.untrusted import (
    defuse_control_tokens,
    marker_pattern,
    neutralise,
    readable,
)

MARKERS = (
    "</answer_{n}>", "<question>", "[The Start of Assistant {n}'s Answer]", "### Response {n}:",
    "<|The End|>", '"""', "[END DATA]", "--- rule ---",
)  # fmt: skip
PIECES = (
    "<", "/", "answer", "_", "1", ">", "</answer_1>", "&lt;", "&#60;", "&amp;", "&", ";", "[",
    "The Start of Assistant 1's Answer", "]", "###", "#", " ", "Response", "3", ":", "<|", "|>",
    '"', '""', "\\", "\n", "\t", "\u200b", "\u0336", "\u202e", "\x00", "\ud800", "＜", "／", "а",
    "END", "DATA", "---", "rule", "question", "<question", "QUESTION>", "ŉ", "ﷺ", "İ", "\ufffd",
)  # fmt: skip
TOKENS = ("<|", "im_end", "|>", "<s>", "</s>", "[INST]", "[", "/INST", "]", "<｜", "User", "｜>",
          "<", "s", ">", "[|", "|]", "<<SYS>>", "\\", " ", "<think>")  # fmt: skip


def text_of(pieces: tuple[str, ...]) -> st.SearchStrategy[str]:
    piece = st.one_of(st.sampled_from(pieces), st.text(max_size=4))
    return st.lists(piece, max_size=25).map("".join)


@given(text=st.one_of(st.text(), text_of(PIECES)))
def test_folded_characters_know_their_origin(text: str) -> None:
    folded, places = fold_with_places(text)
    assert folded == fold(text)
    assert len(places) == len(folded)
    assert places == sorted(places)
    assert all(0 <= place < len(text) for place in places)


@given(text=st.text())
def test_folding_is_done_once(text: str) -> None:
    plain = text.replace("&", "+")  # a reference to a reference is one reference less each time
    assert fold(fold(plain)) == fold(plain)
    assert fold(plain.upper().lower()) == fold(plain.lower())


@given(text=text_of(PIECES))
@settings(max_examples=400)
def test_neutralised_text_has_no_marker_and_lost_nothing(text: str) -> None:
    text = readable(text)
    shown = neutralise(text, MARKERS)
    pattern = marker_pattern(MARKERS)
    assert pattern is not None
    assert pattern.search(fold(shown)) is None
    assert shown.replace("\\", "") == text.replace("\\", "")
    assert shown.count("\\") - text.count("\\") <= len(fold(text))
    assert neutralise(shown, MARKERS) == shown
    if pattern.search(fold(text)) is None:
        assert shown == text


@given(text=text_of(TOKENS))
def test_defused_text_stays_so_and_lost_nothing(text: str) -> None:
    shown = defuse_control_tokens(text)
    assert defuse_control_tokens(shown) == shown
    assert shown.replace("\\", "") == text.replace("\\", "")
    for token in ("<|im_end|>", "<s>", "</s>", "[INST]", "[/INST]", "<｜User｜>", "<<SYS>>"):
        assert token not in shown
