"""Labels, rankings and JSON, as judges write them. Every case stands for its kind."""

from __future__ import annotations

import doctest
import time

import pytest

from magistrate.prompts import (
    demonstrations,
    distribution,
    frames,
    jsonish,
    labels,
    options,
    read_choice,
    read_json,
    read_ranking,
    read_scores,
    rules,
    writing,
)
from magistrate.prompts.base import Verdict
from magistrate.prompts.parse import parse
from magistrate.prompts.rules import ChoiceRules, JsonRules, RankingRules, Rules, ScoreRules

ABC = (("A", "first"), ("B", "second"), ("C", "tie"))
BRACKETS = ChoiceRules(ABC, "last", ("[[{verdict}]]",))  # type: ignore[arg-type]
BRACKETS_FIRST = ChoiceRules(ABC, "first", ("[[{verdict}]]",))  # type: ignore[arg-type]
AT_THE_END = ChoiceRules(ABC, "last")  # type: ignore[arg-type]
NUMBERS = ChoiceRules((("1", "first"), ("2", "second"), ("Tie", "tie")), "first")
DECISION = ChoiceRules(
    (("Response 1", "first"), ("Response 2", "second"), ("Tie", "tie")),
    "last",
    ("final decision is {verdict}",),
)
RESULT = ChoiceRules((("A", "first"), ("B", "second")), "last", ("[RESULT] {verdict}",))
FIVE = ChoiceRules(
    (
        ("A>>B", "first"),
        ("A>B", "first"),
        ("A=B", "tie"),
        ("B>A", "second"),
        ("B>>A", "second"),
    ),
    "last",
    ("[[{verdict}]]",),
)
OUTPUTS = ChoiceRules(
    (("Output (a)", "first"), ("Output (b)", "second")),
    "last",
    ("Therefore, {verdict} is better", "{verdict}"),
)
BY_CASE = ChoiceRules((("m", "first"), ("M", "second")), "first")


def read(text: str, asked: Rules) -> str | None:
    verdict = parse(text, asked)
    return verdict.preference if verdict.status == "ok" else why(verdict)


def why(verdict: Verdict) -> str:
    assert verdict.status != "ok", verdict
    assert verdict.preference is verdict.scores is verdict.ranking is verdict.probabilities is None
    return (verdict.error or "").partition(":")[0]


@pytest.mark.parametrize(
    ("text", "preference"),
    [
        ("[[A]]", "first"),
        ("Verdict: [[B]]", "second"),
        ("**[[C]]**", "tie"),
        ("[[ A ]]", "first"),
        ("[[a]]", "first"),
        ("[[Ａ]]", "first"),
        ("[[Assistant A]]", "first"),
        ("[[A]]\n\nBecause A is right.", "first"),
        ("Final verdict: [[A]].", "first"),
        ('My final verdict is: "[[B]]".', "second"),
        ("```\n[[A]]\n```", "first"),
        ("\\boxed{[[A]]}", "first"),
        ("First [[A]].\nOn second thoughts: [[B]]", "second"),
        ('I am to end with "[[A]]", "[[B]]" or "[[C]]".\nA is right.\n[[A]]', "first"),
        ("The answer says\n[[A]]\nwhich I do not obey.\n[[B]]", "second"),
        ("[[A]] is what the answer asks for: [[B]]", "second"),
        ("<think>[[A]]</think>[[B]]", "second"),
        ("[[A]]\n</think>\n[[B]]", "second"),
    ],
)
def test_a_label_in_brackets(text: str, preference: str) -> None:
    assert read(text, BRACKETS) == preference


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[[D]]", "unknown_label"),
        ("[[A/B]]", "unknown_label"),
        ("[[]]", "unknown_label"),
        ("[[A]]\n[[neither]]", "unknown_label"),
        ("I may say [[A]] or [[B]]", "several_labels"),
        ("[[A]]. [[B]]", "several_labels"),
        ("A [[A]] would be wrong here.", "no_verdict"),
        ('The first answer says "[[A]]".', "no_verdict"),
        ("The first answer says ‘[[A]]’", "no_verdict"),
        ("[A]", "no_verdict"),
        ("[[A", "no_verdict"),
        ("A is better.", "no_verdict"),
        ("", "blank"),
        ("I cannot evaluate this.", "refused"),
        ("<think>[[A]]", "unclosed_thinking"),
        ("x</think>[[A]]</think>[[B]]", "ambiguous_thinking"),
    ],
)
def test_what_is_no_label_in_brackets_is_named(text: str, reason: str) -> None:
    assert read(text, BRACKETS) == reason


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("[[A]] because it is right.\nIt is.", "first"),
        ("Verdict: [[B]], since A errs.", "second"),
        ("The [[A]] mark", "no_verdict"),
        ("Both are good.\n[[A]]", "no_verdict"),
        ("[[X]] because", "unknown_label"),
    ],
)
def test_a_label_in_brackets_on_the_first_line(text: str, outcome: str) -> None:
    assert read(text, BRACKETS_FIRST) == outcome


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("1", "first"),
        ("2\n\n### Reason:\nIt is right.", "second"),
        ("Tie", "tie"),
        ("tie", "tie"),
        ("TIE.", "tie"),
        ("**1**", "first"),
        ("１", "first"),
        ("1)", "first"),
        ("\n\n 2 \n", "second"),
        ("Response 1", "first"),
        ("Answer: 1. Because it is right.", "first"),
        ("Verdict:\n1", "first"),
        ("Decision = 2", "second"),
        ("Tie\n2", "tie"),
        ("3", "no_verdict"),
        ("12", "no_verdict"),
        ("1 or 2", "no_verdict"),
        ("1, 2", "no_verdict"),
        ("1. The first response is right.", "no_verdict"),
        ("1 is better", "no_verdict"),
        ("Response 1 says 2", "no_verdict"),
        ("Verdict: neither", "unknown_label"),
        ("Write 1, 2 or Tie.\n1", "no_verdict"),
    ],
)
def test_a_label_on_the_first_line(text: str, outcome: str) -> None:
    assert read(text, NUMBERS) == outcome


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("Fine.\nVerdict: A", "first"),
        ("Fine.\nA", "first"),
        ("Fine.\nAnswer A", "first"),
        ("Fine. Final decision: B.", "second"),
        ("Fine.\n**Winner:** B, because it is right", "second"),
        ("The better answer is B.", "second"),
        ("Winner: A\n\nConclusion: both answers are good in their own way.", "first"),
        ("Verdict: A\nNo, wait.\nVerdict: B", "second"),
        ("Verdict: A\nVerdict: neither", "unknown_label"),
        ("Verdict: A or B", "unknown_label"),
        ("Fine.\nI choose A", "no_verdict"),
        ("Fine.\nA is better", "no_verdict"),
        ("Fine.\nA > B", "no_verdict"),
        ('The answer says "Verdict: A"', "no_verdict"),
    ],
)
def test_a_label_at_the_end(text: str, outcome: str) -> None:
    assert read(text, AT_THE_END) == outcome


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("So, the final decision is Response 1.", "first"),
        ("The final decision is **Tie**", "tie"),
        ("FINAL DECISION IS response 2", "second"),
        ("The final decision is:\nResponse 2", "second"),
        ("The final decision is Response 1. It is right.", "first"),
        ("The final decision is Response 1, since it is right.", "unknown_label"),
        ('The answer says "the final decision is Response 1".', "no_verdict"),
        ("The answer says 'the final decision is Response 1', and lies.", "no_verdict"),
        ('I say: "So, the final decision is Response 1."', "first"),
        ("The final decision is Response 1.\nNo: the final decision is Response 2.", "second"),
        ("The final decision is Response 1.\nThe final decision is hard.", "unknown_label"),
        ("The final decision is Response 1 or Tie", "unknown_label"),
        ("The final decision is Response 12", "unknown_label"),
        ("Response 1 is better.", "no_verdict"),
        ("Response 1", "no_verdict"),
    ],
)
def test_a_label_in_a_sentence(text: str, outcome: str) -> None:
    assert read(text, DECISION) == outcome


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("Feedback: A is right. [RESULT] A", "first"),
        ("Feedback: fine.\n[RESULT]: B", "second"),
        ("Feedback: fine.\n[RESULT]\nB", "second"),
        ("[RESULT] A or B?\n[RESULT] (B)", "second"),
        ("[RESULT] Tie", "unknown_label"),
        ("The answer says '[RESULT] A', and I do not obey.", "no_verdict"),
        ("The answer says '[RESULT] A'.\n[RESULT] B", "second"),
        ("Feedback: A", "no_verdict"),
    ],
)
def test_a_label_behind_a_mark(text: str, outcome: str) -> None:
    assert read(text, RESULT) == outcome


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("My final verdict is tie: [[A=B]]", "tie"),
        ("[[A>>B]]", "first"),
        ("[[A > B]]", "first"),
        ("[[B>A]].", "second"),
        ("[[A>C]]", "unknown_label"),
        ("[[A]]", "unknown_label"),
    ],
)
def test_labels_of_signs(text: str, outcome: str) -> None:
    assert read(text, FIVE) == outcome


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("Output (a)", "first"),
        ("It is right. Therefore, Output (b) is better.", "second"),
        ("Therefore, output a is better", "first"),
        ("Therefore, neither is better.", "unknown_label"),
        ("Therefore, Output (a) is better than Output (b).", "no_verdict"),
    ],
)
def test_a_label_in_either_of_two_frames(text: str, outcome: str) -> None:
    assert read(text, OUTPUTS) == outcome


def test_letter_case_counts_only_where_it_tells_labels_apart() -> None:
    assert [read(text, BY_CASE) for text in ("m", "M", "**M**.")] == ["first", "second", "second"]
    assert read("b", AT_THE_END) == "second"


ORDER = RankingRules(("A", "B", "C"), "last")
ASSISTANTS = RankingRules(("Assistant 1", "Assistant 2"), "last")
MODELS = RankingRules(("model_1", "model_2"), "first")


@pytest.mark.parametrize(
    ("text", "ranks"),
    [
        ("B > A = C", (2, 1, 2)),
        ("B>A>C", (2, 1, 3)),
        ("**B** > **A** > **C**", (2, 1, 3)),
        ("A = B = C", (1, 1, 1)),
        ("C < A < B", (2, 1, 3)),
        ("Answer B > Answer A > Answer C", (2, 1, 3)),
        ("B ≻ A ≻ C", (2, 1, 3)),
        ("So.\nRanking: B, A, C", (2, 1, 3)),
        ("Therefore, the order is: C > B > A.", (3, 2, 1)),
        ("Therefore, the order is:\n\nC > B > A", (3, 2, 1)),
        ("All are fine. C > B > A.", (3, 2, 1)),
        ("A > B > C\nNo.\nC > B > A", (3, 2, 1)),
        ("1. B\n2. A\n3. C", (2, 1, 3)),
        ("My ranking:\n1) **C**\n2) A\n3) B\nThat is all.", (2, 3, 1)),
        ("['B', 'A', 'C']", (2, 1, 3)),
        (
            '[{"name": "B", "rank": 1}, {"name": "A", "rank": 2}, {"name": "C", "rank": 2}]',
            (2, 1, 2),
        ),
    ],
)
def test_an_order_of_names(text: str, ranks: tuple[int, ...]) -> None:
    verdict = parse(text, ORDER)
    assert (verdict.status, verdict.ranking) == ("ok", ranks), verdict.error
    assert verdict.preference is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("A > B", "mixed_names"),
        ("A > B > B", "mixed_names"),
        ("Rank: A > C > D", "mixed_names"),
        ("['B', 'A']", "mixed_names"),
        ("['B', 'A', 'D']", "mixed_names"),
        ("1. B\n2. A", "mixed_names"),
        ("A > B < C", "no_verdict"),
        ("A >= B > C", "no_verdict"),
        ("A =< B =< C", "no_verdict"),
        ("B, A, C", "no_verdict"),
        ("A > B > C is wrong", "no_verdict"),
        ("A, then B > C", "no_verdict"),
        ("All are good.", "no_verdict"),
        ("", "blank"),
        ("I cannot rank these.", "refused"),
    ],
)
def test_what_is_no_order_is_named(text: str, reason: str) -> None:
    assert why(parse(text, ORDER)) == reason


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("Assistant 1 > Assistant 2", "first"),
        ("2 > 1", "second"),
        ("Both are right. Therefore, the order is: Assistant 1 = Assistant 2.", "tie"),
        ("Assistant 1 < Assistant 2", "second"),
        ("The order is: Assistant 1 =< Assistant 2.", "no_verdict"),
    ],
)
def test_an_order_of_two_is_a_preference(text: str, outcome: str) -> None:
    assert read(text, ASSISTANTS) == outcome
    assert parse(text, ASSISTANTS).ranking is None


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        (
            "[\n    {'model': 'model_1', 'rank': 1},\n    {'model': 'model_2', 'rank': 2}\n]",
            "first",
        ),
        ("[{'model': 'model_1', 'rank': 2}, {'model': 'model_2', 'rank': 1}]", "second"),
        ("[{'model': 'model_1', 'rank': 1}, {'model': 'model_2', 'rank': 1},]", "tie"),
        (
            '```python\n[{"model": "model_2", "rank": 1}, {"model": "model_1", "rank": 2}]\n```',
            "second",
        ),
        ("[{'model': 'model_1', 'rank': 1}]", "mixed_names"),
        ("[{'model': 'model_1', 'rank': 1}, {'model': 'model_1', 'rank': 2}]", "mixed_names"),
        ("[{'model': 'model_1', 'rank': 1}, {'model': 'model_3', 'rank': 2}]", "mixed_names"),
        ("[{'model': 'model_1', 'rank': 1}, {'model': 'model_2'}]", "mixed_names"),
        ("[{'model': 'model_1', 'rank': 1}, {'model': 'mod", "no_verdict"),
        (
            "It says [{'model': 'model_1', 'rank': 1}, {'model': 'model_2', 'rank': 2}], so",
            "no_verdict",
        ),
    ],
)
def test_a_list_of_names_with_ranks(text: str, outcome: str) -> None:
    assert read(text, MODELS) == outcome


PAIR = ScoreRules(count=2, low=1, high=10)
SCORES = JsonRules(PAIR, ("scores",), reasons="why")
TWO_KEYS = JsonRules(PAIR, ("a.score", "b.score"))
WINNER = JsonRules(ChoiceRules(ABC), ("winner",))  # type: ignore[arg-type]
RANKING = JsonRules(ORDER, ("ranking",))


@pytest.mark.parametrize(
    "text",
    [
        '{"scores": [8, 9]}',
        '{"scores": [8, 9,]}',
        '{"why": "So.", "scores": [8, 9],}',
        'Here:\n```json\n{"scores": [8, 9]}\n```\nDone.',
        '{"why": "50\\% of \\d+ hold", "scores": [8, 9]}',
        '{"why": "line\nbreak\ttab", "scores": [8, 9]}',
        '{"why": "\\u00zz", "scores": [8, 9]}',
        '{"why": "a } b { c ] \\" d", "scores": [8, 9]}',
        "{'scores': [8, 9], 'why': 'it\\'s \"right\"', 'ok': True}",
        '{"scores": ["8", "9/10"]}',
        '{"scores": [8.0, 9e0]}',
        '{"scores": [1, 2]}\nNo:\n{"scores": [8, 9]}',
        '{"note": {"x": 1}}\n{"scores": [8, 9]}\n{"other": [1, 2]}',
        'The answer says {"scores": [10, 1]}, and I do not obey.\n{"scores": [8, 9]}',
        '{"scores": [8, 9]}\nThe answer asks for {"scores": [10, 1]} in vain.',
        'My verdict: {"scores": [8, 9]}.',
        '<think>{"scores": [1, 2]}</think>{"scores": [8, 9]}',
    ],
)
def test_scores_in_json(text: str) -> None:
    verdict = parse(text, SCORES)
    assert (verdict.scores, verdict.preference) == ((8.0, 9.0), "second"), verdict.error


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"scores": [8, 1', "broken_json"),
        ('{"scores": [8, 9]', "broken_json"),
        ("{scores: [8, 9]}", "broken_json"),
        ('{"scores": [08, 9]}', "broken_json"),
        ('{"scores": [8 9]}', "broken_json"),
        ('{"scores": [8, 9]}\n{"scores": [1', "broken_json"),
        ('The answer says {"scores": [8, 9]}, and I do not obey.', "no_verdict"),
        ('{"scores": [8]}', "too_few_scores"),
        ('{"scores": [8, 9, 7]}', "too_many_scores"),
        ('{"scores": [80, 90]}', "out_of_scale"),
        ('{"scores": ["8/5", 9]}', "wrong_scale"),
        ('{"scores": [true, 9]}', "not_a_number"),
        ('{"scores": [NaN, 9]}', "not_a_number"),
        ('{"scores": [Infinity, 9]}', "not_a_number"),
        ('{"scores": ["good", 9]}', "not_a_number"),
        ('{"scores": "8, 9"}', "not_a_number"),
        (f'{{"scores": [{"9" * 500}, 9]}}', "out_of_scale"),
        ('{"scores": null}', "missing_key"),
        ('{"scores": [8, 9], "scores": [1, 2]}', "repeated_key"),
        ('{"score": [8, 9]}', "no_verdict"),
        ('{"x": {"scores": [8, 9]}}', "no_verdict"),
        ("8 9", "no_verdict"),
        ("", "blank"),
        ("I cannot evaluate these answers.", "refused"),
        ("[" * 100_000, "no_verdict"),
        ('{"scores":' * 100_000, "broken_json"),
    ],
)
def test_what_is_no_json_verdict_is_named(text: str, reason: str) -> None:
    assert why(parse(text, SCORES)) == reason


def test_keys_labels_and_rankings_in_json() -> None:
    assert parse('{"a": {"score": 8}, "b": {"score": 9}}', TWO_KEYS).scores == (8.0, 9.0)
    assert why(parse('{"a": {"score": 8}}', TWO_KEYS)) == "missing_key"
    assert read('{"winner": "B"}', WINNER) == "second"
    assert read('{"winner": "Answer A"}', WINNER) == "first"
    assert read('{"winner": "D"}', WINNER) == "unknown_label"
    assert read('{"winner": 1}', WINNER) == "unknown_label"
    for value in ('["B", "A", "C"]', '"B > A > C"', '{"A": 2, "B": 1, "C": 3}'):
        assert parse(f'{{"ranking": {value}}}', RANKING).ranking == (2, 1, 3)
    assert why(parse('{"ranking": ["B", "A"]}', RANKING)) == "mixed_names"
    assert why(parse('{"ranking": "good"}', RANKING)) == "no_verdict"


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("So [[A", BRACKETS),
        ("So", BRACKETS),
        ("[[A]]\nAnd", BRACKETS),
        ("1", NUMBERS),
        ("1.", NUMBERS),
        ("Ti", NUMBERS),
        ("", NUMBERS),
        ("Fine.\nVerdict: A", AT_THE_END),
        ("Fine.\nVerd", AT_THE_END),
        ("The final decision is Response 1", DECISION),
        ("The final decision is Resp", DECISION),
        ("A > B", ORDER),
        ("A > B > C", ORDER),
        ("1. B\n2. A", ORDER),
        ("[{'model': 'model_1', 'rank': 1},", MODELS),
        ('{"scores": [8, 1', SCORES),
        ('{"scores": [8, 9]}\nNo', SCORES),
        ("Let me", SCORES),
    ],
)
def test_a_verdict_that_the_limit_cut_is_truncated(text: str, asked: Rules) -> None:
    assert parse(text, asked, "length").status == "truncated"


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("So [[A]]", BRACKETS),
        ("1\n", NUMBERS),
        ("1\n\n### Rea", NUMBERS),
        ("Verdict: 1. Bec", NUMBERS),
        ("Fine.\nVerdict: A\n", AT_THE_END),
        ("The final decision is Response 1.", DECISION),
        ("A > B > C\n", ORDER),
        ("[{'model': 'model_1', 'rank': 1}, {'model': 'model_2', 'rank': 2}]", MODELS),
        ('{"scores": [8, 9]}', SCORES),
        ('{"scores": [8, 9]}\n```', SCORES),
    ],
)
def test_a_verdict_that_the_limit_cannot_have_cut_stays(text: str, asked: Rules) -> None:
    assert parse(text, asked, "length").status == "ok"


def test_reasons_are_what_stands_beside_the_verdict() -> None:
    assert parse("A is right.\nVerdict: [[A]]", BRACKETS).reasons == "A is right."
    assert parse("A is right. So, the verdict is [[A]].", BRACKETS).reasons == "A is right."
    assert parse("1\n\nIt is right.", NUMBERS).reasons == "It is right."
    assert parse("So.\nThe final decision is Tie.", DECISION).reasons == "So."
    assert parse("Both fine.\nA > B > C", ORDER).reasons == "Both fine."
    assert parse('{"why": "So.", "scores": [8, 9]}', SCORES).reasons == "So."
    assert parse("**[[A]]**", BRACKETS).reasons is None
    assert parse("```\n[[A]]\n```", BRACKETS).reasons is None


FRAMED_SCORES = ScoreRules(count=1, low=1, high=5, place="last", frames=("[RESULT] {verdict}",))
TAGGED = ScoreRules(count=2, low=1, high=10, place="first", frames=("<s>{verdict}</s>",))
FIXED = ScoreRules(count=2, low=1, high=10, fixed=(10.0,))


@pytest.mark.parametrize(
    ("text", "asked", "outcome"),
    [
        ("Feedback: fine. [RESULT] 4", FRAMED_SCORES, (4.0,)),
        ("Feedback: fine.\n[RESULT]\n4", FRAMED_SCORES, (4.0,)),
        ("[RESULT] 4/5", FRAMED_SCORES, (4.0,)),
        ("[RESULT] 3\n[RESULT] 4", FRAMED_SCORES, (4.0,)),
        ("[RESULT] 6", FRAMED_SCORES, "out_of_scale"),
        ("[RESULT] 4, since it is right", FRAMED_SCORES, "no_verdict"),
        ("The answer says '[RESULT] 5', and lies.", FRAMED_SCORES, "no_verdict"),
        ('The answer says "[RESULT] 5".\n[RESULT] 4', FRAMED_SCORES, (4.0,)),
        ("[RESULT] 3\n[RESULT] good", FRAMED_SCORES, "no_verdict"),
        ("Score: 4", FRAMED_SCORES, "no_verdict"),
        ("4", FRAMED_SCORES, "no_verdict"),
        ("<s>8 9</s> because", TAGGED, (8.0, 9.0)),
        ("8 9", TAGGED, "no_verdict"),
        ("10 8\nFine.", FIXED, (8.0,)),
        ("9 8", FIXED, "wrong_start"),
        ("10", FIXED, "too_few_scores"),
        ("100 8", FIXED, "wrong_start"),
        ("10 80", FIXED, "out_of_scale"),
    ],
)
def test_scores_in_frames_and_behind_a_fixed_start(
    text: str, asked: ScoreRules, outcome: tuple[float, ...] | str
) -> None:
    verdict = parse(text, asked)
    assert (verdict.scores if verdict.status == "ok" else why(verdict)) == outcome


ALL = (BRACKETS, NUMBERS, AT_THE_END, DECISION, ORDER, MODELS, SCORES, FRAMED_SCORES, OUTPUTS)
PROSE = (
    "The first is right in most of what it says, and 3 of 4 claims hold [see above]. " * 2 + "\n"
)
ENDINGS = {
    BRACKETS: "[[A]]",
    AT_THE_END: "Verdict: A",
    DECISION: "The final decision is Tie.",
    ORDER: "A > B > C",
    SCORES: '{"scores": [8, 9]}',
    FRAMED_SCORES: "[RESULT] 4",
    OUTPUTS: "Output (a)",
}


@pytest.mark.parametrize("asked", ENDINGS, ids=lambda asked: str(asked)[:50])
def test_ten_thousand_characters_are_read_in_a_millisecond(asked: Rules) -> None:
    text = PROSE * 64 + ENDINGS[asked]
    assert len(text) > 10_000
    assert parse(text, asked).status == "ok"
    times = []
    for _ in range(100):  # of its own time, and the least: the machine may be busy
        start = time.process_time()
        parse(text, asked)
        times.append(time.process_time() - start)
    assert min(times) < 0.001


@pytest.mark.parametrize(
    "text",
    [
        "[[A]] " * 20_000,
        "[[" * 50_000,
        "A > " * 30_000,
        "final decision is " * 10_000,
        '{"scores": [8, ' * 10_000,
        "'" * 100_000,
        '"' * 99_999,
        "{'" * 50_000,
        "[RESULT]\n" * 20_000,
        "Verdict: " * 20_000,
        "1. A\n" * 20_000,
        "\\" * 100_000,
        ("a" * 500 + ". ") * 200,
        "Therefore, " * 20_000,
    ],
)
@pytest.mark.timeout(20)
def test_long_replies_are_read_in_time(text: str) -> None:
    for asked in ALL:
        parse(text, asked)
        parse(text, asked, "length")


@pytest.mark.parametrize(
    "module",
    [
        demonstrations,
        distribution,
        frames,
        jsonish,
        labels,
        options,
        read_choice,
        read_json,
        read_ranking,
        read_scores,
        rules,
        writing,
    ],
)
def test_the_examples_in_the_docstrings_hold(module: object) -> None:
    failed, tried = doctest.testmod(module)  # type: ignore[arg-type]
    assert failed == 0
    assert tried > 0
