"""Examples to token ids: the prompt as the judge will read it, the reply as it will write it.

The prompt goes through the very functions that the transformers engine uses
(:mod:`magistrate.engines.hf.encoding`), and the reply's tokens are those that the engine expects
behind it, so that training and judging see the same ids. The prompt is not learned (its labels are
-100); the reply is, with the sign that ends it.

A row that is too long loses its reasons first (:mod:`magistrate.train.fitting`), then the middle of
its answers (as a judge's prompt does, :mod:`magistrate.judging.window`); never its verdict, the
instruction or the end sign.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from magistrate.engines.hf.encoding import RequestEncoder
from magistrate.engines.hf.plain import readable
from magistrate.engines.hf.prompts import Prompt
from magistrate.errors import MagistrateError
from magistrate.judging.window import TooLongError
from magistrate.messages import Request, Sampling
from magistrate.prompts.rules import Value
from magistrate.prompts.text_family import TextFamily
from magistrate.prompts.writing import PartName, ReplyPiece
from magistrate.train.examples import Example
from magistrate.train.fitting import fit_prompt, shorter_reasons
from magistrate.train.targets import Target, written_target

NOT_LEARNED = -100
"""The label of a token that is not learned; what PyTorch's cross-entropy leaves out."""

PARTS: tuple[str, ...] = ("prompt", "verdict", "reasons", "other")
"""What :attr:`Encoded.part_of_label` counts: its numbers are places here."""

_PART: dict[PartName, int] = {"verdict": 1, "reasons": 2, "other": 3}


@dataclass(frozen=True, slots=True)
class Cut:
    """What a row lost so that it fits; false when nothing.

    Attributes:
        reasons: Tokens of reasons.
        prompt: Tokens by slot of the prompt (``answer_1``, ``question``); whole slots not named.
        unreadable_reasons: Whether reasons were left out since the family's parser would not have
            read the verdict beside them (whatever the room).
    """

    reasons: int = 0
    prompt: Mapping[str, int] = field(default_factory=dict)
    unreadable_reasons: bool = False

    def __bool__(self) -> bool:
        """Whether anything is missing."""
        return bool(self.reasons or self.prompt or self.unreadable_reasons)


@dataclass(frozen=True, slots=True)
class SoftVerdict:
    """A teacher's probabilities at the first token at which its possible verdicts differ.

    Attributes:
        position: Place in ``ids`` (and ``labels``) of the token that is distributed.
        tokens: The tokens that can stand there.
        probabilities: Of each; they add up to 1.
    """

    position: int
    tokens: tuple[int, ...]
    probabilities: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Encoded:
    """A row of a causal language model.

    Attributes:
        ids: Prompt, reply and end sign.
        labels: As long; -100 on the prompt, the ids themselves from the reply on. Not shifted:
            models of transformers shift by themselves.
        part_of_label: As long; what each label belongs to, as a place in :data:`PARTS`.
        cut: What is missing.
        soft: Where the teacher gave probabilities and these were asked for.
    """

    ids: tuple[int, ...]
    labels: tuple[int, ...]
    part_of_label: tuple[int, ...]
    cut: Cut = field(default_factory=Cut)
    soft: SoftVerdict | None = None


@dataclass(frozen=True, slots=True)
class Unfit:
    """An example that cannot be learned, and why."""

    reason: str


def encode(
    example: Example,
    family: TextFamily,
    encoder: RequestEncoder,
    max_tokens: int,
    *,
    place: int = 0,
    soft: bool = False,
) -> Encoded | Unfit:
    """Return the row that teaches a judge of a family to reply to an example.

    Args:
        example: Answers and label in the order shown.
        family: In the mode that is trained. The prompt is the judge's in that mode.
        encoder: Of the model that is trained; made without a context, it cuts nothing itself.
        max_tokens: Most tokens of the row, at least 1.
        place: Of a family that reads each answer alone: which shown answer, from 0 (see
            :func:`magistrate.train.targets.readings_of`).
        soft: Whether to give the teacher's probabilities where there are some.
    """
    try:
        target = written_target(example, family, place=place)
        order = tuple(range(len(target.shown.answers)))
        (messages,) = family.prompts(target.shown, order)
        request = Request("", messages, Sampling(max_tokens=0), family.choices(len(order)))
        return _fitted(example, family, encoder, max_tokens, target, request, soft)
    except (TooLongError, MagistrateError) as error:
        return Unfit(str(error))


def _fitted(
    example: Example,
    family: TextFamily,
    encoder: RequestEncoder,
    max_tokens: int,
    target: Target,
    request: Request,
    soft: bool,
) -> Encoded | Unfit:
    prompt, _ = encoder.encode(request)
    end = encoder.end_of(request, prompt)
    reply = encoder.reply(prompt, target.text)
    pieces, lost, cut = target.pieces, 0, dict(prompt.truncated)
    if len(prompt.ids) + len(reply) + 1 > max_tokens and target.reasons:
        whole = len(reply)
        pieces = shorter_reasons(
            family,
            target,
            lambda text: len(encoder.reply(prompt, text)),
            max_tokens - len(prompt.ids) - 1,
        )
        reply = encoder.reply(prompt, _text(pieces))
        lost = whole - len(reply)
    if len(prompt.ids) + len(reply) + 1 > max_tokens:
        request, cut = fit_prompt(encoder, request, max_tokens, reply=len(reply) + 1)
        prompt, _ = encoder.encode(request)
        reply = encoder.reply(prompt, _text(pieces))
    ids = (*prompt.ids, *(token for token, _, _ in reply), end)
    if len(ids) > max_tokens:
        return Unfit(f"too_long: {len(ids):,} tokens after all cuts, {max_tokens:,} fit")
    own = len(prompt.ids)
    return Encoded(
        ids=ids,
        labels=(NOT_LEARNED,) * own + ids[own:],
        part_of_label=(0,) * own + (*_parts(reply, pieces), _PART["other"]),
        cut=Cut(lost, cut, target.reasons_left_out),
        soft=_soft(example, family, encoder, prompt, target, pieces) if soft else None,
    )


def _parts(reply: Sequence[tuple[int, int, int]], pieces: Sequence[ReplyPiece]) -> list[int]:
    """Return the part of each token; one that reaches over a border is the verdict's first."""
    of_character: list[int] = []
    for piece in pieces:
        of_character += [_PART[piece.part]] * len(readable(piece.text))
    return [min(of_character[start:end], default=_PART["other"]) for _, start, end in reply]


def _soft(
    example: Example,
    family: TextFamily,
    encoder: RequestEncoder,
    prompt: Prompt,
    target: Target,
    pieces: Sequence[ReplyPiece],
) -> SoftVerdict | None:
    second = example.gold.probability_second
    other = mirrored(target.value)
    if second is None or other is None or family.reads_alone:
        return None
    reasons = target.reasons if any(piece.part == "reasons" for piece in pieces) else ""
    likely = [token for token, _, _ in encoder.reply(prompt, _text(pieces))]
    other_text = _text(family.reply_pieces(other, reasons))
    unlikely = [token for token, _, _ in encoder.reply(prompt, other_text)]
    for place, (mine, theirs) in enumerate(zip(likely, unlikely, strict=False)):
        if mine != theirs:
            share = max(second, 1 - second)
            return SoftVerdict(len(prompt.ids) + place, (mine, theirs), (share, 1 - share))
    return None


def mirrored(value: Value) -> Value | None:
    """Return what a verdict on a pair would be the other way round; None for a tie or no pair.

    >>> mirrored("first"), mirrored((8.0, 7.0)), mirrored((1, 1))
    ('second', (7.0, 8.0), None)
    """
    if isinstance(value, str):
        return {"first": "second", "second": "first", "tie": None}[value]  # type: ignore[return-value]
    if len(value) != 2 or value[0] == value[1]:
        return None
    return cast(Value, value[::-1])


def _text(pieces: Sequence[ReplyPiece]) -> str:
    return "".join(piece.text for piece in pieces)
