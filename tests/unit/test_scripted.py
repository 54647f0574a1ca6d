"""The scripted engine's rules by length: what counts is the answer, not how a prompt shows it."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from magistrate.engines.scripted import ScriptedEngine
from magistrate.judging.resolve import load_judge
from magistrate.judging.stream import judge_samples
from magistrate.messages import Message, Part, Request
from magistrate.metrics.baselines import longer_wins
from magistrate.prompts.catalog import list_families, load_family
from magistrate.records import Answer, Judgment, Sample, Turn


def pair(first: str | Answer, second: str | Answer) -> Sample:
    answers = (one if isinstance(one, Answer) else Answer(text=one) for one in (first, second))
    return Sample(question="q", answers=tuple(answers), reference="r")


TALK = Answer(
    text="no",
    turns=(
        Turn(role="assistant", text="yes"),
        Turn(role="user", text="a long question of the user, who is not judged"),
        Turn(role="assistant", text="no"),
    ),
)
PAIRS = {
    "empty against short": pair("", "ok"),
    "short against empty": pair("ok", ""),
    "empty against blank": pair("", " "),
    "both empty": pair("", ""),
    "a marker that is made harmless": pair("</answer_1>", "0123456789a"),
    "the words for an empty answer": pair("(this answer is empty)", "(this answer is empty)!"),
    "an answer over several turns": pair(TALK, "123456"),
    "turns of equal length": pair(TALK, "12345"),
}


@pytest.mark.parametrize("sample", PAIRS.values(), ids=PAIRS)
@pytest.mark.parametrize("family", ["pair", "pair-reference", "pair-reasons-first", "n-way"])
def test_longer_means_what_the_baseline_means(sample: Sample, family: str) -> None:
    with load_judge(f"scripted:longer#{family}") as judge:
        judgments = [one for batch in judge_samples(judge, [sample]) for one in batch]
    assert len(judgments) == 2
    assert {one.preference for one in judgments} == {longer_wins(sample)}


def test_parts_without_a_count_are_measured_as_they_stand() -> None:
    parts = (Part("answers: "), Part("aaa", "answer_1"), Part("bb", "answer_2"))
    (made,) = ScriptedEngine("longer").complete([Request("k", (Message("user", parts),))])
    assert made.text.startswith("8 5\n")


OWN = [entry.name for entry in list_families() if entry.bundled]


def judged(name: str, sample: Sample, mode: str = "reason") -> list[Judgment]:
    with load_judge(name, mode=mode) as judge:  # type: ignore[arg-type]
        return [one for batch in judge_samples(judge, [sample]) for one in batch]


def fitting(family: str, *, equal: bool = False) -> Sample:
    """Return a sample that a family can be asked about, its first answer the longer one."""
    loaded = load_family(family)
    count = 1 if loaded.reads_alone else min(loaded.max_answers or 3, 3)
    turns = "two-turns" in family
    question: Any = "What?"
    if turns:
        question = tuple(Turn(role="user", text=text) for text in ("What?",))
    texts = ["An answer of some length.", *["Same answer, some length."] * (count - 1)]
    if not equal:
        texts = [texts[0], *["Short."] * (count - 1)]

    def answer(text: str) -> Answer:
        said = (
            Turn(role="assistant", text="yes"),
            Turn(role="user", text="And then?"),
            Turn(role="assistant", text=text),
        )
        return Answer(text=text, turns=said if turns else ())

    return Sample(
        question=question,
        answers=tuple(answer(text) for text in texts),
        reference="Ref.",
        rubric="Is it kind?",
        images=("a.png",),
        meta={"x": 1},
        context=("A picture of a cat.",),
    )


@pytest.mark.parametrize("mode", ["reason", "score"])
@pytest.mark.parametrize("family", OWN)
def test_every_family_reads_what_the_scripted_judge_writes(family: str, mode: str) -> None:
    if mode == "score" and load_family(family).file.score_mode is None:
        pytest.skip("the family has no score mode")
    sample = fitting(family)
    for judgment in judged(f"scripted:longer#{family}", sample, mode):
        assert judgment.status == "ok", judgment.error
        if len(sample.answers) == 2:
            assert judgment.preference == "first"
        elif len(sample.answers) > 2:
            assert judgment.ranking == (1, 2, 2)
        if mode == "reason":
            assert (judgment.reasons or "").startswith("Scored by the rule 'longer'.")


@pytest.mark.parametrize("family", ["pandalm", "ab-token", "mt-bench-pair", "prometheus-relative"])
def test_rules_by_place_are_biased_in_every_form(family: str) -> None:
    first = judged(f"scripted:first#{family}", fitting(family))
    assert [one.preference for one in first] == ["first", "second"], "the answer shown first"


def test_an_even_pair_is_a_tie_where_the_family_knows_one() -> None:
    assert {one.preference for one in judged("scripted:tie#pandalm", pair("a", "b"))} == {"tie"}
    coins = [
        one.preference
        for number in range(20)
        for one in judged("scripted:tie#ab-token", pair(f"{number}", "b"))
    ]
    assert set(coins) == {"first", "second"}, "which one follows from the prompt"


def test_scores_are_carried_over_to_the_family_s_scale() -> None:
    (one,) = judged("scripted:first#prometheus-absolute", fitting("prometheus-absolute"))
    assert one.scores == (4.0,)
    both = judged("scripted:longer#pair", pair("longer", "short"))
    assert both[0].scores == (8.0, 5.0)


def test_a_family_with_json_is_written_as_json(tmp_path: Path) -> None:
    source = Path(inspect.getfile(load_family)).parent / "families" / "pair" / "family.toml"
    text = source.read_text("utf-8").replace('name = "pair"', 'name = "as-json"')
    start, rest = text.split("[verdict]", 1)
    rest = rest[rest.index("[sampling]") :].split("[score_mode]")[0]
    verdict = '[verdict]\nkind = "json"\nplace = "last"\nholds = "scores"\n'
    verdict += 'keys = ["a.score", "b.score"]\nreasons = "why"\nlow = 0\nhigh = 100\n\n'
    folder = tmp_path / "as-json"
    folder.mkdir()
    (folder / "family.toml").write_text(start + verdict + rest, "utf-8")
    one, _ = judged(f"scripted:longer#{folder}", pair("longer", "short"))
    assert (one.status, one.scores) == ("ok", (78.0, 44.0))
    assert one.reasons == "Scored by the rule 'longer'."
