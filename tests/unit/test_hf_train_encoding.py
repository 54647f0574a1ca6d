"""Rows of training: the judge's own prompt, the reply learned to its end, and what is cut."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest
from hf_help import CHATML, LLAMA2, byte_tokenizer, piece_tokenizer, tiny_engine

from magistrate.engines.exact import verdict_texts
from magistrate.engines.hf.encoding import RequestEncoder, ends_of
from magistrate.engines.slots import SlotEncoder
from magistrate.judging.asking import Asked, Asker
from magistrate.judging.judge import make_judge
from magistrate.judging.plan import Plan
from magistrate.messages import Request, Sampling
from magistrate.prompts.catalog import bundled_names, load_family
from magistrate.prompts.classifier import ClassifierFamily
from magistrate.prompts.scorer import ScorerFamily
from magistrate.prompts.text_family import TextFamily
from magistrate.records import Answer, Gold, Sample
from magistrate.train.encoding import (
    NOT_LEARNED,
    PARTS,
    Encoded,
    Unfit,
    encode,
    encode_pair_class,
    encode_scored_answers,
)
from magistrate.train.examples import Augmentation, Example, make_example
from magistrate.train.targets import readings_of, written_target

FAMILIES = tuple(name for name in bundled_names() if not load_family(name).shows_images)
TOKENIZERS = {
    "bytes, ChatML": lambda: byte_tokenizer(CHATML),
    "bytes, none": lambda: byte_tokenizer(None),
    "pieces, Llama 2": lambda: piece_tokenizer(LLAMA2),
    "pieces, legacy": lambda: piece_tokenizer(None, legacy=True),
}
REASONS = "Assistant 1 is right. The second answer is wrong. So the first one wins."


@cache
def tokenizer_of(name: str) -> Any:
    """A tokenizer, made once."""
    return TOKENIZERS[name]()


@cache
def encoder_of(name: str = "bytes, ChatML") -> RequestEncoder:
    """What encodes the rows of a model with some tokenizer."""
    tokenizer = tokenizer_of(name)
    return RequestEncoder(
        tokenizer,
        engine="hf",
        context=None,
        ends=frozenset({tokenizer.eos_token_id}),
        use_template=True,
    )


def a_sample(
    first: str = "Paris.", second: str = "Lyon <|im_end|> I think.", **more: Any
) -> Sample:
    """A pair with whatever a template may need, and a label."""
    label = {"scores": (5, 2), "reasons": REASONS, **more}
    return Sample(
        question="What is the capital?",
        answers=(Answer(text=first), Answer(text=second)),
        reference="Turn 1: Paris\n\nTurn 2: yes",
        rubric="truth",
        gold=(Gold(**label),),
    )


def shown(sample: Sample) -> Example:
    """A sample as it is."""
    how = Augmentation(swap=0, drop_reference=0)
    return make_example(sample, augmentation=how, seed=0, epoch=0, index=0)


def row_of(sample: Sample, family: str = "judgelm", most: int = 4000, **how: Any) -> Encoded:
    """The row of a sample, which must fit."""
    mode = how.pop("mode", "reason")
    row = encode(shown(sample), load_family(family, mode=mode), encoder_of(), most, **how)
    assert isinstance(row, Encoded), row
    return row


def learned(row: Encoded, tokenizer: str = "bytes, ChatML") -> str:
    """The text of what is learned, control tokens included."""
    ids = [token for token, label in zip(row.ids, row.labels, strict=True) if label != NOT_LEARNED]
    return str(tokenizer_of(tokenizer).decode(ids))


def text_of(row: Encoded, part: str) -> str:
    """The text of the tokens of one part."""
    number = PARTS.index(part)
    ids = [t for t, own in zip(row.ids, row.part_of_label, strict=True) if own == number]
    return str(tokenizer_of("bytes, ChatML").decode(ids, skip_special_tokens=True))


# The judge's own ids.


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@pytest.mark.parametrize("name", FAMILIES)
def test_prompts_are_the_very_ids_that_the_judge_reads(name: str, tokenizer: str) -> None:
    engine = tiny_engine(tokenizer=tokenizer_of(tokenizer))
    engine._info = engine.info.__class__(
        **{f: getattr(engine.info, f) for f in engine.info.__slots__ if f != "context_tokens"}
    )
    sample = a_sample()
    for family in families(name):
        judge = make_judge("j", family, engine)
        (reading, *_) = Plan.of(judge).readings_of(sample)
        asked = Asker(judge).ask(reading)
        assert isinstance(asked, Asked), asked
        assert len(asked.requests) == readings_of(family, sample)
        for place, request in enumerate(asked.requests):
            prompt, tree = encoder_of(tokenizer).encode(request)
            row = encode(shown(sample), family, encoder_of(tokenizer), 9999, place=place)
            assert isinstance(row, Encoded), row
            own = row.labels.count(NOT_LEARNED)
            assert row.ids[:own] == prompt.ids
            assert row.labels == (NOT_LEARNED,) * own + row.ids[own:]
            assert not row.cut
            if tree is not None and request.choices is not None:
                said = written_target(shown(sample), family, place=place).text
                texts = verdict_texts(request.choices)
                if said in texts:
                    path = encoder_of(tokenizer)._trees._paths(
                        prompt.anchor, [prompt.reply.before + text for text in texts]
                    )[texts.index(said)]
                    assert row.ids[own:-1] == tuple(path)


def families(name: str) -> list[TextFamily]:
    """A family in each mode that it has."""
    family = load_family(name)
    return [family] + ([family.in_mode("score")] if family.file.score_mode else [])


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@pytest.mark.parametrize("name", FAMILIES)
def test_the_reply_is_learned_to_its_end_and_every_token_has_its_part(
    name: str, tokenizer: str
) -> None:
    encoder = encoder_of(tokenizer)
    for family in families(name):
        row = encode(shown(a_sample()), family, encoder, 9999)
        assert isinstance(row, Encoded), row
        meant = written_target(shown(a_sample()), family)
        own = row.labels.count(NOT_LEARNED)
        assert encoder.decode(row.ids[own:]).strip() == meant.text.strip()
        assert row.labels[-1] == row.ids[-1] == tokenizer_of(tokenizer).eos_token_id
        assert len(row.ids) == len(row.labels) == len(row.part_of_label)
        assert set(row.part_of_label[:own]) == {0}
        assert 0 not in row.part_of_label[own:]
        for number, part in enumerate(PARTS[1:3], 1):
            due = "".join(piece.text for piece in meant.pieces if piece.part == part)
            found = [t for t, p in zip(row.ids, row.part_of_label, strict=True) if p == number]
            # Tokens may reach over a border by a blank.
            assert encoder.decode(found).strip(" \n,]") == due.strip(" \n,]")


def test_the_end_is_the_sign_of_the_chat_template() -> None:
    tokenizer = byte_tokenizer(CHATML)
    tokenizer.eos_token = "<|endoftext|>"
    ends = frozenset({tokenizer.eos_token_id})
    encoder = RequestEncoder(tokenizer, engine="hf", context=None, ends=ends, use_template=True)
    turn_end = tokenizer.convert_tokens_to_ids("<|im_end|>")
    for name, mode in (("pair", "reason"), ("pair", "score")):
        row = encode(shown(a_sample()), load_family(name, mode=mode), encoder, 4000)  # type: ignore[arg-type]
        assert isinstance(row, Encoded)
        assert row.ids[-1] == turn_end
    # After a prefilled start only the model's own end sign is sure to stop the judge.
    row = encode(shown(a_sample()), load_family("mt-bench-pair", mode="score"), encoder, 4000)
    assert isinstance(row, Encoded)
    assert row.ids[-1] == tokenizer.eos_token_id


def test_control_tokens_in_data_are_letters() -> None:
    row = row_of(a_sample(first="<|im_start|>system", reasons="So <|im_end|> it is."), "pair")
    control = tokenizer_of("bytes, ChatML").convert_tokens_to_ids("<|im_end|>")
    own = row.labels.count(NOT_LEARNED)
    assert row.ids[own:].count(control) == 1
    assert "So <|im_end|> it is." in learned(row)


# Rows that are too long.


def test_a_long_prompt_never_costs_the_target() -> None:
    # JudgeLM cuts rows from the right: here all its labels would be masked.
    sample = a_sample(first="word " * 3000, second="other " * 9)
    row = row_of(sample, most=1000)
    assert len(row.ids) <= 1000
    assert text_of(row, "verdict") == "5 2"
    assert row.ids[-1] == tokenizer_of("bytes, ChatML").eos_token_id
    prompt = encoder_of().decode(row.ids[: row.labels.count(NOT_LEARNED)])
    assert "Put the two scores alone on the first line" in prompt
    assert prompt.endswith("### Response:")
    assert "answer_2" not in row.cut.prompt, "the short answer is whole"


def test_reasons_go_first_by_whole_sentences_and_answers_only_then() -> None:
    sample = a_sample(first="right " * 60, second="wrong " * 60)
    whole = row_of(sample)
    kept = []
    for most in range(len(whole.ids) + 1, len(whole.ids) - 90, -1):
        row = row_of(sample, most=most)
        assert len(row.ids) <= most
        assert text_of(row, "verdict") == "5 2"
        assert row.ids[-1] == whole.ids[-1]
        reasons = text_of(row, "reasons")
        assert REASONS.startswith(reasons)
        assert reasons == "" or reasons.endswith(".")
        if row.cut.prompt:
            assert reasons == "", "answers are cut only when no reasons are left"
        lost = len(whole.ids) - len(row.ids)
        if not row.cut.prompt:
            assert row.cut.reasons == lost
        kept.append(reasons)
    assert kept == sorted(kept, key=len, reverse=True)
    assert set(kept) == {
        REASONS,
        "Assistant 1 is right. The second answer is wrong.",
        "Assistant 1 is right.",
        "",
    }


def test_both_answers_are_cut_alike() -> None:
    row = row_of(a_sample(first="word " * 900, second="word " * 900), most=900)
    lost = row.cut.prompt
    assert set(lost) == {"answer_1", "answer_2"}
    assert abs(lost["answer_1"] - lost["answer_2"]) < 12


@pytest.mark.parametrize("mode", ["reason", "score"])
@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_fits_or_says_why_not(name: str, mode: Any) -> None:
    long = a_sample(first="word " * 700, second="other " * 700)
    family = load_family(name, mode=mode)
    for most in (4, 700, 1100):
        row = encode(shown(long), family, encoder_of(), most)
        if isinstance(row, Unfit):
            assert row.reason.startswith("too_long:")
            assert most < 1100
        else:
            assert len(row.ids) <= most
            assert row.cut.prompt
            assert text_of(row, "verdict")


def test_soft_verdicts_are_distributed_where_they_part() -> None:
    sample = a_sample(probability_second=0.25)
    row = row_of(sample, "mt-bench-pair", soft=True)
    assert row.soft is not None
    decode = tokenizer_of("bytes, ChatML").decode
    assert [decode([token]) for token in row.soft.tokens] == ["A", "B"]
    assert row.soft.probabilities == (0.75, 0.25)
    assert row.labels[row.soft.position] == row.soft.tokens[0]
    assert PARTS[row.part_of_label[row.soft.position]] == "verdict"
    scored = row_of(sample, "judgelm", soft=True)
    assert scored.soft is not None
    assert [decode([token]) for token in scored.soft.tokens] == ["5", "2"]
    assert row_of(sample, "judgelm").soft is None
    assert row_of(a_sample(), "judgelm", soft=True).soft is None


def test_soft_verdicts_after_cut_reasons_still_part_at_the_verdict() -> None:
    sample = a_sample(probability_second=0.25)
    whole = row_of(sample, "mt-bench-pair")
    row = row_of(sample, "mt-bench-pair", most=len(whole.ids) - 5, soft=True)
    assert row.cut.reasons
    assert row.soft is not None
    assert PARTS[row.part_of_label[row.soft.position]] == "verdict"


def test_a_label_that_says_nothing_is_unfit_and_named() -> None:
    tie = a_sample(scores=None, preference="tie")
    row = encode(shown(tie), load_family("ab-token"), encoder_of(), 4000)
    assert isinstance(row, Unfit)
    assert row.reason.startswith("the label is a tie, and family 'ab-token' knows only one of A")


def test_demonstrations_stand_in_the_prompt_and_are_not_learned() -> None:
    family = load_family("pair", demonstrations=[a_sample(first="Rome.")])
    row = encode(shown(a_sample()), family, encoder_of(), 9999)
    assert isinstance(row, Encoded)
    assert learned(row).startswith("5 2\n")
    assert learned(row).count("5 2") == 1


def test_ends_of_a_model_without_any_are_an_error() -> None:
    tokenizer = byte_tokenizer(None)
    tokenizer.eos_token = None
    encoder = RequestEncoder(
        tokenizer, engine="hf", context=None, ends=frozenset(), use_template=True
    )
    row = encode(shown(a_sample()), load_family("judgelm"), encoder, 4000)
    assert isinstance(row, Unfit)
    assert "no sign that ends a text" in row.reason


# Heads.

PAIR_TEMPLATE = "Q: {{ question }}\nA: {{ answer_1 }}\nB: {{ answer_2 }}"


def slots(most: int) -> SlotEncoder:
    """What encodes the readings of a head."""
    return SlotEncoder(tokenizer_of("bytes, ChatML").backend_tokenizer.to_str(), most)


def classifier(labels: Sequence[str] = ("first", "second", "tie")) -> ClassifierFamily:
    """A head that classifies."""
    section = {"kind": "classifier", "template": PAIR_TEMPLATE, "labels": list(labels)}
    return ClassifierFamily.from_sections("c", section, {})


def scorer() -> ScorerFamily:
    """A head that scores."""
    section = {"kind": "scorer", "template": "Q: {{ question }}\nA: {{ answer }}"}
    return ScorerFamily.from_sections("s", section, {})


def test_a_classifying_head_reads_what_its_engine_reads() -> None:
    sample = a_sample(probability_second=0.25)
    row = encode_pair_class(shown(sample), classifier(), slots(200), 200, soft=True)
    assert not isinstance(row, Unfit)
    (messages,) = classifier().prompts(sample, (0, 1))
    (reading,) = slots(200).encode_requests([Request("", messages, Sampling(max_tokens=0))])
    assert list(row.ids) == reading.ids
    assert (row.label, row.probabilities) == (0, (0.75, 0.25, 0))
    hard = encode_pair_class(shown(sample), classifier(), slots(200), 200)
    assert not isinstance(hard, Unfit)
    assert hard.probabilities == (1, 0, 0)


def test_a_swapped_pair_has_the_other_class_and_the_other_answers() -> None:
    swapped = make_example(a_sample(), augmentation=Augmentation(swap=1), seed=0, epoch=0, index=0)
    row = encode_pair_class(swapped, classifier(), slots(200), 200)
    assert not isinstance(row, Unfit)
    assert (row.label, row.probabilities) == (1, (0, 1, 0))
    text = tokenizer_of("bytes, ChatML").decode(row.ids)
    assert text.index("Lyon") < text.index("Paris")


def test_a_head_without_ties_leaves_ties_out_and_says_so() -> None:
    tie = shown(a_sample(scores=(5, 5)))
    row = encode_pair_class(tie, classifier(("first", "second")), slots(200), 200)
    assert isinstance(row, Unfit)
    assert "a tie, and the head knows only first, second" in row.reason


def test_a_scoring_head_reads_each_answer_alone() -> None:
    row = encode_scored_answers(shown(a_sample(second="w " * 500)), scorer(), slots(90), 90)
    assert not isinstance(row, Unfit)
    assert len(row.readings) == 2
    assert max(map(len, row.readings)) <= 90
    assert row.scores == (5, 2)
    assert row.ranking == (1, 2)
    assert row.cut.keys() == {"answer_2"}
    tight = encode_scored_answers(shown(a_sample()), scorer(), slots(3), 3)
    assert isinstance(tight, Unfit)
    assert tight.reason.startswith("too_long")


def test_the_ends_of_a_real_configuration_hold_the_learned_end() -> None:
    tokenizer = tokenizer_of("bytes, ChatML")
    model = tiny_engine(tokenizer=tokenizer)._model
    found = ends_of(model.generation_config, model.config, tokenizer)
    assert row_of(a_sample()).ids[-1] in found


# Padding.


def test_padding_is_neither_learned_nor_read() -> None:
    """UnlimitedJudge's fine-tuning learned it; a row's loss must not depend on its neighbours."""
    from hf_help import tiny_model

    from magistrate.train.generate import GenerateHead, Written
    from magistrate.train.recipe import DataSection, JudgeSection, Recipe

    judge = JudgeSection(base="none", family="judgelm")
    head = GenerateHead(Recipe(data=DataSection(train=("none",)), judge=judge))
    tokenizer = tokenizer_of("bytes, ChatML")
    model = tiny_model(vocab=len(tokenizer), max_position_embeddings=1024)
    items = [Written((row_of(a_sample(first="word " * count)),)) for count in (2, 60, 25)]
    together = head.collate(items, packed=False)
    due = [t for item in items for t in item.rows[0].labels if t != NOT_LEARNED]
    assert together["targets"].tolist() == due
    assert together["input_ids"].shape == (3, max(item.tokens for item in items))
    one_by_one = [
        float(head.losses(model, head.collate([i], packed=False)).loss.detach()) for i in items
    ]
    assert float(head.losses(model, together).loss.detach()) == pytest.approx(
        sum(one_by_one), rel=1e-4
    )
