"""The token paths of verdicts behind a prompt.

A reply's tokens come after those of the prompt, which stay as they are. So the path of a verdict is
what the tokenizer makes of it *behind the last words of the prompt*: these words and the verdict
are encoded as one text, and the path is what follows the tokens of the words alone. Where the
tokenizer would join the two across the border, which a model that writes cannot do, a line break
stands in for the words. Blanks that the chat template puts before a reply belong to the path.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from magistrate.engines.exact import VerdictTree, build_tree, verdict_texts
from magistrate.engines.hf.plain import PlainTokenizer, readable
from magistrate.messages import Choices

LONGEST_ANCHOR = 64
"""Characters of the prompt that can have a say in how a reply is divided into tokens."""

_ANCHORED = "a"


class VerdictTrees:
    """Trees of verdicts, each made once."""

    def __init__(self, tokenizer: Any, plain: PlainTokenizer) -> None:
        """Take a tokenizer of transformers, and its plain version."""
        self._tokenizer = tokenizer
        self._plain = plain
        self.tree = lru_cache(maxsize=64)(self._tree)
        self._texts: list[str] | None = None

    def _tree(self, choices: Choices, anchor: str, before: str) -> VerdictTree:
        """Return the tree of some verdicts.

        Args:
            choices: What can be said.
            anchor: The last words of the prompt, without control tokens.
            before: Blanks between prompt and reply.

        Raises:
            EngineError: The verdicts cannot be told apart, or are too many.
        """
        texts = verdict_texts(choices)
        said = [before + text for text in texts]
        return build_tree(texts, self._paths(anchor[-LONGEST_ANCHOR:], said), self.vocabulary)

    def behind(self, anchor: str, text: str) -> list[tuple[int, int, int]]:
        """Return (id, start, end) of each token of a text behind the last words of a prompt.

        Args:
            anchor: The last words of the prompt, without control tokens.
            text: A reply; the ranges are of its characters.
        """
        for words in (anchor[-LONGEST_ANCHOR:], "\n"):
            start = self._plain.encode(words, first=False)
            whole = self._plain.pieces(readable(words) + text, first=False)
            if [token for token, _, _ in whole[: len(start)]] == start and len(whole) > len(start):
                skip = len(readable(words))
                return [(token, a - skip, b - skip) for token, a, b in whole[len(start) :]]
        return self._plain.pieces(text, first=False)

    def vocabulary(self) -> Sequence[str]:
        """Return what each token adds to a text that has begun."""
        if self._texts is None:
            anchor = self._plain.encode(_ANCHORED)
            backend = self._tokenizer.backend_tokenizer
            (bare,) = backend.decode_batch([anchor], skip_special_tokens=False)
            joined = backend.decode_batch(
                [[*anchor, token] for token in range(len(self._tokenizer))],
                skip_special_tokens=False,
            )
            self._texts = [text.removeprefix(bare) for text in joined]
        return self._texts

    def _paths(self, anchor: str, said: Sequence[str]) -> list[list[int]]:
        for words in (anchor, "\n"):
            start = self._plain.encode(words, first=False)
            whole = [self._plain.encode(words + text, first=False) for text in said]
            if all(ids[: len(start)] == start and len(ids) > len(start) for ids in whole):
                return [ids[len(start) :] for ids in whole]
        return [self._plain.encode(text, first=False) for text in said]
