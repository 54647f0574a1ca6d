"""How many tokens a text takes, where the tokenizer is on the server.

Exact with the option ``tokenizer=FILE``. For OpenAI's own models with tiktoken, if that package is
installed. Otherwise an estimate that is meant to lie above the truth: a prompt is then cut a little
early rather than refused.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from magistrate.errors import EngineError

Count = Callable[[str], int]

ESTIMATE_VERSION = 1
"""Raised whenever the estimate may come out otherwise."""

_LETTERS_A_TOKEN = 5
"""Longer words of Latin letters are split, about so."""
_LETTERS_A_TOKEN_ABROAD = 3
"""In languages other than English, which many vocabularies hardly know."""
_FOREIGN_SHARE = 0.01
"""So many letters with accents make a text one in another language."""
_DIGITS_ALIKE = bytes(ord("0") if chr(byte).isdigit() else byte for byte in range(128)) + bytes(
    range(128, 256)
)
_LETTERS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_OTHER_VISIBLE = bytes(byte for byte in range(33, 127) if byte not in _LETTERS)
_BLANK_ALL_BUT_LETTERS = bytes(byte if byte in _LETTERS else 32 for byte in range(256))
_BY_LENGTH = bytes(
    ord("4") if byte >= 0xF0 else ord("3") if byte >= 0xE0 else ord("2") if byte >= 0xC0 else 32
    for byte in range(256)
)
"""First bytes of characters outside ASCII become the number of their bytes in UTF-8."""


@dataclass(frozen=True, slots=True)
class Counter:
    """Counts tokens."""

    count: Count
    method: str
    """How: part of what identifies a judge, as prompts are cut by it."""


def make_counter(model: str, tokenizer: Path | None, *, is_openai: bool) -> Counter:
    """Return the best counter there is.

    Raises:
        EngineError: ``tokenizer`` is not a tokenizer file.
    """
    if tokenizer is not None:
        return _from_file(tokenizer)
    if is_openai:
        encoding = _tiktoken_encoding(model)
        if encoding is not None:
            return Counter(
                lambda text: len(encoding.encode(text, disallowed_special=())),
                f"tiktoken {encoding.name}",
            )
    return Counter(estimate_tokens, f"estimate {ESTIMATE_VERSION}")


def estimate_tokens(text: str) -> int:
    """Return about the most tokens that a text takes in the vocabularies of current models.

    Five Latin letters of a word count one (three, where letters with accents say that it is no
    English), and so do a digit, the blank before a number, a punctuation mark, a line end and two
    blanks in a row. Outside ASCII, a character counts 1.5 where UTF-8 takes two bytes, 2 where it
    takes three, and 4 where it takes four.

    >>> estimate_tokens("The cat sat on the mat.")
    7
    """
    data = text.encode("utf-8", "surrogatepass")
    tokens, letters = 0, _LETTERS_A_TOKEN
    if not text.isascii():
        lengths = data.translate(_BY_LENGTH)
        twos, threes, fours = (lengths.count(number) for number in (b"2", b"3", b"4"))
        tokens += (3 * twos + 1) // 2 + 2 * threes + 4 * fours
        letters = _LETTERS_A_TOKEN_ABROAD if twos > _FOREIGN_SHARE * len(data) else letters
    words = Tally(map(len, data.translate(_BLANK_ALL_BUT_LETTERS).split()))
    tokens += sum(-(-length // letters) * times for length, times in words.items())
    tokens += data.translate(_DIGITS_ALIKE).count(b" 0")
    tokens += len(data) - len(data.translate(None, _OTHER_VISIBLE))
    tokens += data.count(b"\n") + data.count(b"\t") + data.count(b"  ")
    return tokens


def _from_file(path: Path) -> Counter:
    from tokenizers import Tokenizer

    from magistrate.ids import file_sha256

    try:
        tokenizer = Tokenizer.from_file(str(path.expanduser()))
        digest = file_sha256(path.expanduser())
    except Exception as error:  # the library raises the base class itself
        raise EngineError(f"tokenizer={path}: not a tokenizer.json ({error})") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return Counter(
        lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids),
        f"tokenizer {digest[:16]}",
    )


def _tiktoken_encoding(model: str) -> Any:
    """Return the encoding of a model; None without the package, or when it cannot be loaded."""
    try:
        import tiktoken  # type: ignore[import-not-found,unused-ignore]

        return tiktoken.encoding_for_model(model)
    except Exception:  # not installed, unknown model, or no network for its data
        return None
