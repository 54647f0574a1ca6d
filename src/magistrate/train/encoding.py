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

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from magistrate.engines.hf.encoding import RequestEncoder
from magistrate.engines.hf.plain import readable
from magistrate.engines.hf.prompts import Prompt
from magistrate.errors import MagistrateError
from magistrate.judging.window import TOO_LONG, TooLongError
from magistrate.messages import Request, Sampling
from magistrate.metrics.gold import annotator_vote
from magistrate.prompts.outcome import ranking_of
from magistrate.prompts.rules import Value
from magistrate.prompts.scorer import ScorerFamily
from magistrate.prompts.text_family import TextFamily
from magistrate.prompts.writing import PartName
from magistrate.records import Gold, Probabilities
from magistrate.train.examples import Example
from magistrate.train.fitting import fit_prompt, shorter_reasons
from magistrate.train.targets import Target, written_target

if TYPE_CHECKING:
    from magistrate.engines.slots import SlotEncoder
    from magistrate.prompts.classifier import ClassifierFamily

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
    lost, cut = 0, dict(prompt.truncated)
    if len(prompt.ids) + len(reply) + 1 > max_tokens and target.reasons:
        whole, room = len(reply), max_tokens - len(prompt.ids) - 1
        target = shorter_reasons(family, target, lambda t: len(encoder.reply(prompt, t)), room)
        reply = encoder.reply(prompt, target.text)
        lost = whole - len(reply)
    if len(prompt.ids) + len(reply) + 1 > max_tokens:
        room = max_tokens - len(reply) - 1
        request, cut = fit_prompt(encoder, request, len(prompt.ids), room)
        prompt, _ = encoder.encode(request)
        reply = encoder.reply(prompt, target.text)
    ids = (*prompt.ids, *(token for token, _, _ in reply), end)
    if len(ids) > max_tokens:
        return Unfit(f"{TOO_LONG} {len(ids):,} tokens with all cuts, {max_tokens:,} fit")
    own = len(prompt.ids)
    return Encoded(
        ids=ids,
        labels=(NOT_LEARNED,) * own + ids[own:],
        part_of_label=(0,) * own + (*_parts(reply, target), _PART["other"]),
        cut=Cut(lost, cut, target.reasons_left_out),
        soft=_soft(example, family, encoder, prompt, target) if soft else None,
    )


def _parts(reply: Sequence[tuple[int, int, int]], target: Target) -> list[int]:
    """Return the part of each token; one that reaches over a border is the verdict's first."""
    of_character: list[int] = []
    for piece in target.pieces:
        of_character += [_PART[piece.part]] * len(readable(piece.text))
    return [min(of_character[start:end], default=_PART["other"]) for _, start, end in reply]


def _soft(
    example: Example, family: TextFamily, encoder: RequestEncoder, prompt: Prompt, target: Target
) -> SoftVerdict | None:
    second = example.gold.probability_second
    other = mirrored(target.value)
    if second is None or other is None or family.reads_alone:
        return None
    unlikely = replace(target, pieces=family.reply_pieces(other, target.reasons))
    likely_ids, unlikely_ids = (
        [token for token, _, _ in encoder.reply(prompt, one.text)] for one in (target, unlikely)
    )
    for place, (mine, theirs) in enumerate(zip(likely_ids, unlikely_ids, strict=False)):
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
        return {"first": "second", "second": "first", "tie": None}[value]
    if len(value) != 2 or value[0] == value[1]:
        return None
    return cast(Value, value[::-1])


@dataclass(frozen=True, slots=True)
class EncodedClass:
    """A pair as a classifying head reads it.

    Attributes:
        ids: One reading of both answers.
        label: Place of the outcome among the family's labels.
        probabilities: Of each label, adding up to 1: a point, or the teacher's where there are
            some and they were asked for.
        cut: Tokens cut from each slot; whole slots are not named.
    """

    ids: tuple[int, ...]
    label: int
    probabilities: tuple[float, ...]
    cut: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EncodedAnswers:
    """The answers of one sample as a scoring head reads them, in the order shown.

    Attributes:
        readings: Token ids of each answer with its question.
        scores: The label's score of each, on the annotator's own scale; None without.
        ranking: The label's rank of each, 1 is best; None for a single answer.
        probabilities: Of a pair: a point, or the teacher's where there are some and they were
            asked for; None for any other number.
        cut: Tokens cut from each slot over all readings; whole slots are not named.
    """

    readings: tuple[tuple[int, ...], ...]
    scores: tuple[float, ...] | None
    ranking: tuple[int, ...] | None
    probabilities: Probabilities | None
    cut: Mapping[str, int] = field(default_factory=dict)


def encode_pair_class(
    example: Example,
    family: ClassifierFamily,
    slots: SlotEncoder,
    max_tokens: int,
    *,
    soft: bool = False,
) -> EncodedClass | Unfit:
    """Return the reading that teaches a classifying head the outcome of a pair.

    Args:
        example: A pair with its label, in the order shown.
        family: The head's prompt and labels.
        slots: Made for ``max_tokens``; the judge's engine encodes with the same.
        max_tokens: Longest reading.
        soft: Whether to take the teacher's probabilities where there are some.
    """
    shown = outcome_probabilities(example, soft=soft)
    labels = family.section.labels
    if shown is None:
        return Unfit(f"a pair is needed, and the sample has {len(example.sample.answers)} answers")
    if shown.preference not in labels or (shown.tie and "tie" not in labels):
        return Unfit(f"its label is a tie, and the head knows only {', '.join(labels)}")
    try:
        (reading,) = slots.encode(family.prompts(example.sample, (0, 1)))
    except MagistrateError as error:
        return Unfit(str(error))
    if len(reading.ids) > max_tokens:
        return Unfit(_no_room(len(reading.ids), max_tokens))
    return EncodedClass(
        ids=tuple(reading.ids),
        label=labels.index(shown.preference),
        probabilities=tuple(float(getattr(shown, label)) for label in labels),
        cut=reading.truncated,
    )


def encode_scored_answers(
    example: Example,
    family: ScorerFamily,
    slots: SlotEncoder,
    max_tokens: int,
    *,
    soft: bool = False,
) -> EncodedAnswers | Unfit:
    """Return the readings, one per answer, that teach a scoring head what a label says.

    Arguments as :func:`encode_pair_class`; any number of answers.
    """
    sample, gold = example.sample, example.gold
    count = len(sample.answers)
    try:
        readings = slots.encode(family.prompts(sample, tuple(range(count))))
    except MagistrateError as error:
        return Unfit(str(error))
    longest = max(len(reading.ids) for reading in readings)
    if longest > max_tokens:
        return Unfit(_no_room(longest, max_tokens))
    cut: Counter[str] = Counter()
    for place, reading in enumerate(readings, 1):
        for slot, lost in reading.truncated.items():
            cut[f"answer_{place}" if slot == "answer" else slot] += lost
    scores = gold.scores if gold.scores is not None and len(gold.scores) == count else None
    return EncodedAnswers(
        readings=tuple(tuple(reading.ids) for reading in readings),
        scores=scores,
        ranking=ranking_of_label(gold, count),
        probabilities=outcome_probabilities(example, soft=soft),
        cut=dict(cut),
    )


def outcome_probabilities(example: Example, *, soft: bool) -> Probabilities | None:
    """Return the label of a pair as a distribution; a point unless ``soft``; None for no pair."""
    if soft or example.preference is None:
        return example.probabilities
    preference = example.preference
    return Probabilities(
        first=float(preference == "first"),
        tie=float(preference == "tie"),
        second=float(preference == "second"),
    )


def ranking_of_label(gold: Gold, count: int) -> tuple[int, ...] | None:
    """Return a label as a rank per answer, 1 is best; None for a single answer.

    >>> ranking_of_label(Gold(preference="second"), 2), ranking_of_label(Gold(scores=(1, 3, 2)), 3)
    ((2, 1), (3, 1, 2))
    """
    if count == 2 and (vote := annotator_vote(gold)) is not None:
        return {"first": (1, 2), "second": (2, 1), "tie": (1, 1)}[vote]
    if count > 1 and gold.scores is not None and len(gold.scores) == count:
        return ranking_of(gold.scores)
    return gold.ranking if count > 1 else None


def _no_room(found: int, room: int) -> str:
    return f"{TOO_LONG} the template's own words take {found:,} tokens, {room:,} fit"
