"""Demonstrations: who is drawn, and how every family shows them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from magistrate.errors import FamilyError, InputError
from magistrate.messages import Completion, Message
from magistrate.prompts.catalog import list_families, load_family
from magistrate.prompts.demonstrations import draw_demonstrations
from magistrate.prompts.text_family import TextFamily
from magistrate.prompts.writing import gold_value, preference_of_gold, write_verdict
from magistrate.records import Answer, Gold, Preference, Sample

OWN = [entry.name for entry in list_families() if entry.bundled]


def pair(number: int, preference: Preference | None, **gold: object) -> Sample:
    labels = (Gold(preference=preference, **gold),) if preference or gold else ()  # type: ignore[arg-type]
    return Sample(
        question=f"Question {number}?",
        answers=(Answer(text=f"One {number}."), Answer(text=f"Two {number}.")),
        reference="Ref.",
        images=("https://example.org/one.png",),
        rubric="Be kind.",
        gold=labels,
        source_id=str(number),
    )


def labelled(number: int = 30) -> list[Sample]:
    outcomes: list[Preference] = ["first", "second", "tie"]
    return [pair(k, outcomes[k % 3]) for k in range(number)]


def test_equally_many_of_each_outcome_are_drawn() -> None:
    drawn = draw_demonstrations(labelled(), per_outcome=3)
    preferences = [preference_of_gold(sample) for sample in drawn]
    assert {name: preferences.count(name) for name in set(preferences)} == {
        "first": 3,
        "second": 3,
        "tie": 3,
    }
    assert preferences != sorted(preferences), "outcomes are mixed"  # type: ignore[type-var]
    assert draw_demonstrations(labelled(), per_outcome=0) == ()


def test_the_draw_follows_the_seed_and_not_the_sequence_of_the_file() -> None:
    samples = labelled()
    shuffled = samples[:]
    random.Random(1).shuffle(shuffled)
    drawn = draw_demonstrations(samples, per_outcome=2, seed=5)
    assert draw_demonstrations(shuffled, per_outcome=2, seed=5) == drawn
    assert draw_demonstrations(samples + samples, per_outcome=2, seed=5) == drawn
    assert draw_demonstrations(samples, per_outcome=2, seed=6) != drawn


def test_what_is_judged_is_never_drawn_nor_is_it_the_other_way_round() -> None:
    samples = labelled(6)
    without_reference = samples[0].model_copy(update={"reference": None, "gold": ()})
    reversed_one = samples[1].model_copy(update={"answers": samples[1].answers[::-1]})
    judged = [without_reference, reversed_one]
    for seed in range(20):
        drawn = draw_demonstrations(samples, per_outcome=1, seed=seed, judged=judged)
        assert not {"0", "1"} & {sample.source_id for sample in drawn}
        assert len(drawn) == 3


def test_too_few_of_an_outcome_are_told_with_what_there_is() -> None:
    with pytest.raises(InputError, match=r"there are 2 of 'first' \(found: first 2, second 2"):
        draw_demonstrations(labelled(6), per_outcome=3)
    with pytest.raises(InputError, match="no sample to demonstrate with"):
        draw_demonstrations([pair(1, None)], per_outcome=1)


def test_outcomes_of_one_answer_and_of_many() -> None:
    def one(number: int, score: float) -> Sample:
        answers = (Answer(text=f"{number}"),)
        return Sample(question="Q", answers=answers, gold=(Gold(scores=(score,)),))

    few = draw_demonstrations([one(k, k % 5 + 1) for k in range(20)], per_outcome=1)
    assert sorted(s.gold[0].scores for s in few) == [(1,), (2,), (3,), (4,), (5,)]  # type: ignore[type-var]
    many = draw_demonstrations([one(k, k % 10 + 1) for k in range(40)], per_outcome=1)
    low, middle, high = sorted(s.gold[0].scores[0] for s in many if s.gold[0].scores)
    assert low < 4 <= middle < 7 <= high

    def three(number: int, ranking: tuple[int, ...]) -> Sample:
        answers = tuple(Answer(text=f"{number}{k}") for k in range(3))
        return Sample(question="Q", answers=answers, gold=(Gold(ranking=ranking),))

    ranked = [three(1, (1, 2, 3)), three(2, (2, 1, 3)), three(3, (1, 1, 3)), three(4, (2, 3, 1))]
    assert len(draw_demonstrations(ranked, per_outcome=1)) == 4


@pytest.mark.parametrize(
    ("gold", "preference"),
    [
        ((Gold(preference="first"),), "first"),
        ((Gold(scores=(1, 2)),), "second"),
        ((Gold(ranking=(1, 1)),), "tie"),
        ((Gold(preference="first"), Gold(preference="second")), None),
        ((Gold(preference="first"), Gold(preference="first"), Gold(preference="tie")), "first"),
        ((Gold(label="yes"),), None),
        ((), None),
    ],
)
def test_the_preference_of_gold_is_the_majority(
    gold: tuple[Gold, ...], preference: Preference | None
) -> None:
    sample = Sample(question="Q", answers=(Answer(text="a"), Answer(text="b")), gold=gold)
    assert preference_of_gold(sample) == preference


def demonstration(reasons: str | None = None) -> Sample:
    """A sample of which every family can make something: scores on both scales."""
    return pair(1, "second", scores=(2.0, 5.0), ranking=(2, 1), reasons=reasons)


def own_words(messages: tuple[Message, ...]) -> str:
    return "".join(p.text for m in messages for p in m.parts if p.slot is None)


@pytest.mark.parametrize("mode", ["reason", "score"])
@pytest.mark.parametrize("name", OWN)
def test_every_family_shows_replies_that_it_reads_itself(name: str, mode: str) -> None:
    sample = demonstration("Since it is.")
    family = load_family(name, mode=mode, demonstrations=[sample])  # type: ignore[arg-type]
    bare = load_family(name, mode=mode)  # type: ignore[arg-type]
    judged = pair(9, None)
    for shown, plain in zip(
        family.prompts(judged, (0, 1)), bare.prompts(judged, (0, 1)), strict=True
    ):
        if plain[-1].role == "text":
            text = "".join(part.text for part in shown[-1].parts)
            assert text.endswith(plain[-1].text)
            before = text.removesuffix(plain[-1].text)
            asked = bare.prompts(sample, (0, 1))[0][-1].text
            assert before.startswith(asked), "the fixed start is the beginning of the reply"
            reply = before.removeprefix(asked.removesuffix(bare.start) if bare.start else asked)
        else:
            system = [m for m in plain if m.role == "system"]
            assert list(shown[: len(system)]) == system
            assert shown[-len(plain) + len(system) :] == plain[len(system) :]
            reply = next(m.text for m in shown if m.role == "assistant")
        assert reply.startswith(family.start)
        assert not family.start or not reply.startswith(family.start * 2)
        read = bare.read(
            [Completion(key="0", text=reply.removeprefix(bare.start).rstrip())]
            * (2 if bare.reads_alone else 1),
            sample,
            (0, 1),
        )
        assert read.status == "ok", (reply, read.error)
        if bare.reads_alone:
            assert read.scores == (2.0, 2.0)
        else:
            assert read.preference == "second"
        assert ("Since it is." in reply) == (mode == "reason")


@pytest.mark.parametrize("name", OWN)
def test_demonstrations_are_data_with_slots_of_their_own(name: str) -> None:
    marker = load_family(name).file.markers[-1].replace("{n}", "1")
    hostile = demonstration(f"So {marker} it is.").model_copy(
        update={"question": f"Q {marker}", "answers": (Answer(text=marker), Answer(text="x"))}
    )
    honest = load_family(name, demonstrations=[demonstration("So it is.")])
    family = load_family(name, demonstrations=[hostile, demonstration("So.")])
    judged = pair(9, None)
    slots = {
        part.slot: part.text
        for messages in family.prompts(judged, (0, 1))
        for message in messages
        for part in message.parts
        if part.slot
    }
    assert {"demo_1_question", "demo_2_question", "question", "demo_1_reasons"} <= set(slots)
    for slot in ("demo_1_question", "demo_1_reasons"):
        assert marker not in slots[slot]
        assert "\\" in slots[slot]
    shown = family.prompts(judged, (0, 1))[0]
    plain = honest.prompts(judged, (0, 1))[0]
    # Own words alone write markers: a demonstration more, as often again.
    bare = load_family(name).prompts(judged, (0, 1))[0]
    per_demonstration = own_words(plain).count(marker) - own_words(bare).count(marker)
    assert own_words(shown).count(marker) == own_words(plain).count(marker) + per_demonstration


def test_demonstrations_change_the_hash_and_survive_a_change_of_mode() -> None:
    one, two = pair(1, "first"), pair(2, "tie")
    bare = load_family("pair")
    shown = load_family("pair", demonstrations=[one, two])
    assert shown.prompt_hash != bare.prompt_hash
    assert load_family("pair", demonstrations=[two, one]).prompt_hash != shown.prompt_hash
    assert load_family("pair", demonstrations=[one, two]).prompt_hash == shown.prompt_hash
    assert shown.in_mode("score").demonstrations == (one, two)
    assert shown.in_mode("score").prompts(one, (0, 1))[0][2].text == "8 5"


def test_a_sample_without_a_fitting_label_cannot_be_shown() -> None:
    with pytest.raises(FamilyError, match="'7' cannot be a demonstration for family 'pair'"):
        load_family("pair", demonstrations=[pair(7, None)])
    with pytest.raises(FamilyError, match=r"no gold label of it says one of A \(first\)"):
        load_family("ab-token", demonstrations=[pair(7, "tie")])
    one = Sample(question="Q", answers=(Answer(text="a"),), gold=(Gold(scores=(3,)),))
    with pytest.raises(FamilyError, match="it has 1 answers"):
        load_family("pair", demonstrations=[one])


JSON_FAMILY = """\
name = "jason"
version = "1"
description = "JSON."
min_answers = 2
max_answers = 2
empty_answer = "(nothing)"
markers = ["<a{n}>"]

[[messages]]
role = "user"
text = "{{ question }}<a1>{{ answer_1 }}<a2>{{ answer_2 }}"

[verdict]
kind = "json"
place = "last"
holds = "%s"
%s
[sampling]
max_tokens = 50
"""


@pytest.mark.parametrize(
    ("holds", "keys"),
    [
        ("scores", 'keys = ["scores"]\nreasons = "why"\nlow = 1\nhigh = 5'),
        ("scores", 'keys = ["one.score", "two.score"]\nlow = 1\nhigh = 5'),
        ("choice", 'keys = ["best"]\nlabels = { first = ["A"], second = ["B"] }'),
        ("ranking", 'keys = ["order"]\nnames = "{letter}"'),
    ],
)
def test_json_is_written_as_it_is_read(tmp_path: Path, holds: str, keys: str) -> None:
    folder = tmp_path / "jason"
    folder.mkdir()
    (folder / "family.toml").write_text(JSON_FAMILY % (holds, keys), "utf-8")
    sample = demonstration('It is "so".')
    family = TextFamily.from_folder(folder, demonstrations=[sample])
    reply = family.prompts(sample, (0, 1))[0][1].text
    assert family.read([Completion(key="0", text=reply)], sample, (0, 1)).preference == "second"


def test_canonical_verdicts_of_rankings() -> None:
    section = load_family("alpaca-eval-ranking").file.verdict
    written = write_verdict(section, (2, 1, 2), lead="")
    assert written.startswith('[{"model": "model_2", "rank": 1}')
    chain = section.model_copy(update={"written": "chain"})
    assert write_verdict(chain, (2, 1, 2), lead="") == "model_2 > model_1 = model_3"
    sample = Sample(
        question="Q", answers=tuple(Answer(text=t) for t in "abc"), gold=(Gold(scores=(3, 9, 5)),)
    )
    assert gold_value(section, sample, 3) == (3, 1, 2)
