"""What judges write, and how it must be read. Every case stands for its kind."""

from __future__ import annotations

import doctest

import pytest

from magistrate.prompts import numerals, outcome, parse, refusals, scores, untrusted
from magistrate.prompts.rules import ScoreRules

PAIR = ScoreRules(count=2, low=1, high=10)
PAIR_LAST = ScoreRules(count=2, low=1, high=10, place="last")
SINGLE = ScoreRules(count=1, low=1, high=10)
SINGLE_LAST = ScoreRules(count=1, low=1, high=10, place="last")
PERCENT = ScoreRules(count=1, low=0, high=100)


@pytest.mark.parametrize(
    "text",
    [
        "8, 9",
        "8,9",
        "8 9",
        "8 9 ",
        " 8 9",
        "8  9",
        "8\t9",
        "8\u00a09",
        "8\u30009",
        "8 9.",
        "8; 9",
        "8 | 9",
        "| 8 | 9 |",
        "8 and 9",
        "8, and 9",
        "\n8 9",
        "\n\n \n8 9\n",
        "8 9\r\nBecause.",
        "8 9\n\nAnswer 1 says 3 of 10 things.",
        "8/10 9/10",
        "8/10, 9/10",
        "8 / 10  9 / 10",
        "8 out of 10, 9 out of 10",
        "**8 9**",
        "**8** **9**",
        "__8 9__",
        "`8 9`",
        "# 8 9",
        "> 8 9",
        "- 8 9",
        "(8, 9)",
        "[8, 9]",
        '"8 9"',
        "8.0 9.0",
        "+8 +9",
        "Scores: 8 9",
        "Score: 8, 9",
        "**Scores:** 8 9",
        "**Scores**: 8 9",
        "Final scores are 8 and 9.",
        "My ratings: 8/10, 9/10",
        "Scores: 8, 9. The second is more complete.",
        "Scores: 8 9 - the second is more complete",
        "Scores:\n8 9",
        "## Scores\n8 9",
        "Here are my grades:\n\n8 9\nThe second is better.",
        "```\n8 9\n```",
        '{"scores": [8, 9]}',
        "Answer 1: 8, Answer 2: 9",
        "Answer 1: 8/10; Answer 2: 9/10",
        "Answer 1: 8\nAnswer 2: 9",
        "**Answer 1:** 8\n\n**Answer 2:** 9\nBoth are good.",
        "Assistant 1: 8 Assistant 2: 9",
        "Answer 2: 9, Answer 1: 8",
        "A: 8, B: 9",
        "Response A: 8\nResponse B: 9",
        "Score of answer 1: 8, score of answer 2: 9",
        "８ ９",
        "８，９",
        "８／１０ ９／１０",
        "٨ ٩",
        "٨، ٩",
        "८ ९",
        "八 九",
        "8分 9分",
        "评分：8，9",
        "\ufeff8 9",
        "\u200b8 9\u200b",
        "<think>The first: 3, the second: 4.</think>8 9",
        "<think>\n3 4\n</think>\n\n8 9\nBecause.",
        "The first gets 3 of 4 right.\n</think>\n8 9",
        "3 4 look right, I think\n</think>\n8 9",
        "<think></think><think>again</think>8 9",
        "<THINKING>so</THINKING>8 9",
    ],
)
def test_two_scores_are_read(text: str) -> None:
    verdict = parse.parse(text, PAIR)
    assert (verdict.status, verdict.scores, verdict.preference) == ("ok", (8.0, 9.0), "second"), (
        verdict.error
    )


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("8", 8),
        ("Score: 8", 8),
        ("Score: 8/10", 8),
        ("8 out of 10", 8),
        ("8 points", 8),
        ("Rating: [[8]]", 8),
        ("[[8]]", 8),
        ("The score is 8.", 8),
        ("8.5", 8.5),
        ("８．５", 8.5),
        ("٨٫٥", 8.5),
        ("10", 10),
        ("十", 10),
        ("Answer 1: 8", 8),
        ("Score: 8 - it names 3 of 4 causes", 8),
    ],
)
def test_one_score_is_read(text: str, score: float) -> None:
    verdict = parse.parse(text, SINGLE)
    assert (verdict.status, verdict.scores) == ("ok", (float(score),)), verdict.error
    assert verdict.preference is None


@pytest.mark.parametrize(("text", "score"), [("85.5", 85.5), ("0.8", 0.8), ("85.5/100", 85.5)])
def test_digits_are_never_joined(text: str, score: float) -> None:
    assert parse.parse(text, PERCENT).scores == (score,)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("8", "too_few_scores"),
        ("Scores: 8", "too_few_scores"),
        ("8.9", "too_few_scores"),
        ("8\n9", "too_few_scores"),
        ("8/10/9/10", "no_verdict"),
        ("8 9 7", "too_many_scores"),
        ("8, 9, 7", "too_many_scores"),
        ("8,5 9,5", "too_many_scores"),
        ("1,000 9", "no_verdict"),
        ("8 11", "out_of_scale"),
        ("0 9", "out_of_scale"),
        ("-1 9", "out_of_scale"),
        ("8 −9", "out_of_scale"),
        ("0.8 0.9", "out_of_scale"),
        ("80 90", "out_of_scale"),
        ("[[90]] [[80]]", "out_of_scale"),
        ("9999999999999999999999999 9", "out_of_scale"),
        ("8/5 9/5", "wrong_scale"),
        ("8/9", "too_few_scores"),
        ("nan 9", "not_a_number"),
        ("8 NaN", "not_a_number"),
        ("inf 9", "not_a_number"),
        ("Scores: -inf 9", "not_a_number"),
        ("None None", "not_a_number"),
        ("N/A", "not_a_number"),
        ("8*9", "no_verdict"),
        ("8_9", "no_verdict"),
        ("1**0 9", "no_verdict"),
        ("1\u200b0 9", "no_verdict"),
        ("8² 9", "no_verdict"),
        ("08 09", "no_verdict"),
        ("8e0 9e0", "no_verdict"),
        ("8% 9%", "no_verdict"),
        ("8-9", "no_verdict"),
        ("8 - 9", "no_verdict"),
        ("8 > 9", "no_verdict"),
        ("8.9.1 4", "no_verdict"),
        ("8 9 apples", "no_verdict"),
        ("7 of the 10 claims are wrong", "no_verdict"),
        ("1. Answer 1 is correct.\n8 9", "no_verdict"),
        ("Rate each answer from 1 to 10.\n8 9", "no_verdict"),
        ("Answer 2 is better.\n8 9", "no_verdict"),
        ("Answer 1: 8, Answer 1: 9", "mixed_names"),
        ("Answer 1: 8, Answer 3: 9", "mixed_names"),
        ("Answer 2: 8, 9", "mixed_names"),
        ("Scores: 8, 9 7 things are wrong", "no_verdict"),
        ("Scores: 8 9, 10 of 12 points hold", "no_verdict"),
        ("八九 九", "no_verdict"),
        ("Score:", "no_verdict"),
        ("<think>8 9", "unclosed_thinking"),
        ("<think>\n</think>\n<think>\n8 9", "unclosed_thinking"),
        ("<think>it says </think>\n10 1\n so?</think>\n8 9", "ambiguous_thinking"),
        ("thought\n</think>\n10 1\n</think>\n8 9", "ambiguous_thinking"),
        ("<think>quoted </think>\n10 1\n</think>\nI cannot evaluate this.", "ambiguous_thinking"),
    ],
)
def test_what_is_not_two_scores_is_named(text: str, reason: str) -> None:
    verdict = parse.parse(text, PAIR)
    assert verdict.status == "unparsed", verdict
    assert verdict.error is not None
    assert verdict.error.split(":")[0] == reason, verdict.error
    assert verdict.scores is None
    assert verdict.preference is None


@pytest.mark.parametrize(
    ("text", "scores"),
    [
        ("I was torn between [[3]] and then [[4]].", None),
        ("Either [[3]] or [[4]]", None),
        ('The answer says: rate this "[[10]]"', None),
        ("Not [[3]]: [[4]]", (4.0,)),
        ('My rating: "[[4]]"', (4.0,)),
    ],
)
def test_one_of_several_scores_in_brackets_or_a_quoted_one_is_no_verdict(
    text: str, scores: tuple[float, ...] | None
) -> None:
    assert parse.parse(text, SINGLE_LAST).scores == scores


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[[90]]", "out_of_scale"),
        ("8 9", "too_many_scores"),
        ("1. First, the facts.", "no_verdict"),
        ("8. It is good.", "no_verdict"),
        ("80/100", "wrong_scale"),
    ],
)
def test_what_is_not_one_score_is_named(text: str, reason: str) -> None:
    verdict = parse.parse(text, SINGLE)
    assert verdict.status == "unparsed"
    assert (verdict.error or "").startswith(f"{reason}: ")


def test_the_reason_shows_what_was_found_and_what_was_due() -> None:
    assert parse.parse("[[90]]", SINGLE).error == (
        "out_of_scale: 90 is not within 1 to 10 in '[[90]]'"
    )
    long = parse.parse("word " * 100, PAIR).error or ""
    assert "the first line should hold 2 scores alone" in long
    assert len(long) < 200


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\t\r\n", "\u3000", "<think>hm</think>\n"])
def test_a_blank_reply_is_an_error_that_can_be_tried_again(text: str) -> None:
    verdict = parse.parse(text, PAIR)
    assert verdict.status == "error"
    assert (verdict.error or "").startswith("blank: ")


@pytest.mark.parametrize(
    "text",
    [
        "I cannot evaluate this",
        "I cannot evaluate these answers.",
        "I'm sorry, but I can't help with that.",
        "I’m sorry, I can’t assist with that request.",
        "Sorry, I am not able to rate harmful content.",
        "I apologize, but these answers contain harmful material.",
        "As an AI language model, I cannot compare them.",
        "I must decline to judge these answers.",
        "I won't provide scores for this content.",
        "I am unable to score these.",
        "Unable to evaluate the answers.",
        "I do not wish to. I will not rate them.",
        "抱歉，我无法评价这些回答。",
        "Lo siento, no puedo evaluar esto.",
        "<think>dangerous</think>I can't help with this.",
    ],
)
@pytest.mark.parametrize("rules", [PAIR, PAIR_LAST])
def test_declining_is_refused(text: str, rules: ScoreRules) -> None:
    verdict = parse.parse(text, rules)
    assert verdict.status == "refused", verdict
    assert (verdict.error or "").startswith("refused: ")


@pytest.mark.parametrize(
    "text",
    [
        "8 9\nI cannot evaluate the second claim.",
        "8 9\nAnswer 2 says: I'm sorry, but I can't help with that.",
    ],
)
def test_a_verdict_beside_words_of_refusal_is_read(text: str) -> None:
    assert parse.parse(text, PAIR).scores == (8.0, 9.0)


def test_a_content_filter_is_a_refusal_unless_the_verdict_stands() -> None:
    assert parse.parse("", PAIR, "content_filter").status == "refused"
    assert parse.parse("The first", PAIR, "content_filter").status == "refused"
    assert parse.parse("8 1", PAIR, "content_filter").status == "refused"
    assert parse.parse("8 9\nThe", PAIR, "content_filter").status == "ok"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "8",
        "8 ",
        "8,",
        "8 9",
        "8 1",
        "8 9.",
        "10 1",
        "8/10 9/1",
        "8/10 9/",
        "Scores: 8",
        "Scores:",
        "Answer 1: 8",
        "Answer 1: 8\nAnswer 2:",
        "Answer 1: 8\nAnswer 2: 9",
        "The first answer",
        "<think>The first answer",
        "<think>8 9\n",
    ],
)
def test_a_verdict_that_the_limit_cut_is_truncated(text: str) -> None:
    verdict = parse.parse(text, PAIR, "length")
    assert verdict.status == "truncated", verdict
    assert (verdict.error or "").startswith("cut: ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("8 9\n", (8, 9)),
        ("8 9 ", (8, 9)),
        ("8 9\nBecause the second", (8, 9)),
        ("8/10 9/10", (8, 9)),
        ("**8 9**", (8, 9)),
        ("10 10", (10, 10)),
        ("8 10", (8, 10)),
        ("Scores: 8 9. Because the", (8, 9)),
        ("Answer 1: 8\nAnswer 2: 9\n", (8, 9)),
    ],
)
def test_a_verdict_that_the_limit_cannot_have_cut_stays(
    text: str, expected: tuple[float, float]
) -> None:
    assert parse.parse(text, PAIR, "length").scores == tuple(map(float, expected))


@pytest.mark.parametrize("text", ["10 10", "8 1", "8 9"])
def test_a_verdict_without_newline_stays_as_it_is(text: str) -> None:
    first, second = map(float, text.split())
    assert parse.parse(text, PAIR).scores == (first, second)


def test_a_bad_first_line_is_not_excused_by_a_later_cut() -> None:
    assert parse.parse("Both are fine.\nThe first", PAIR, "length").status == "unparsed"


@pytest.mark.parametrize(
    "text",
    [
        "Both fine.\nGrades: 8 9",
        "Both fine.\n**Grades:** 8 9\n",
        "Both fine.\n\nGrades:\n8 9",
        "Both fine.\n\n**Grades:**\n\n8 9\n",
        "Both fine.\n8 9",
        "Both fine.\n8/10 9/10\n\n",
        "Both fine.\nAnswer 1: 8\nAnswer 2: 9",
        "Both fine.\n```\n8 9\n```",
        "Grades: 8 9",
        "8 9",
        "Grades: 3 4\nNo, wait.\nGrades: 8 9",
        "I am to end with 'Grades: 1 2'.\nGrades: 8 9",
        "The answer says\nGrades: 10 1\nwhich I ignore.\nGrades: 8 9",
        "Both fine.\nGrades: 8 9\n\nThis was hard.",
        "Both fine.\nFinal grades: 8, 9.",
        "Both fine. Grades: 8 9",
        "Both fine. **Grades:** 8 9.",
        'The first scores: "well." Grades: 8 9',
        "两个都好。评分：8，9",
        "I would rate them [[8]] and [[9]].",
        "Both fine. Grades: [[8]], [[9]]\n\nThis was hard.",
        "Grades: 10 1? No. Grades: 8 9",
        "<think>Grades: 10 1</think>Both fine.\nGrades: 8 9",
        "Grades: 10 1\n</think>Both fine.\nGrades: 8 9",
    ],
)
def test_the_last_verdict_wins_where_reasons_come_first(text: str) -> None:
    verdict = parse.parse(text, PAIR_LAST)
    assert verdict.scores == (8.0, 9.0), verdict


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Grades: 8 9\nGrades: nan 9", "not_a_number"),
        ("Grades: 8 9\nGrades: 80 90", "out_of_scale"),
        ("Grades: 8 9\nGrades: 7", "too_few_scores"),
        ("Both fine.\n8 9\nThe second is better.", "no_verdict"),
        ("The first has 8 points and the second 9.", "no_verdict"),
        ("Both fine.", "no_verdict"),
        ("Both fine. Grades: 8 9 or so.", "no_verdict"),
        ("Both fine. Grades: 8 9. But see above.", "no_verdict"),
        ("The ratings: 8 9 are quoted. Fine.", "no_verdict"),
        ('The second says: "Grades: 8 9"', "no_verdict"),
        ("The second says Grades: 8 9", "no_verdict"),
        ("I would rate them [[A]].", "no_verdict"),
        ('The second says "[[8]] and [[9]]".', "no_verdict"),
        ("I rate them [[8]] and [[9]] or [[7]] and [[9]].", "no_verdict"),
        ("I would rate them [[80]] and [[90]].", "out_of_scale"),
        ("Both fine. Grades: 80 90", "out_of_scale"),
        ("<think>Grades: 8 9</think>Both fine.", "no_verdict"),
        ("Grades: 8 9\n</think>Both fine.", "no_verdict"),
    ],
)
def test_no_earlier_verdict_stands_in_for_a_bad_last_one(text: str, reason: str) -> None:
    verdict = parse.parse(text, PAIR_LAST)
    assert (verdict.status, (verdict.error or "").split(":")[0]) == ("unparsed", reason)


@pytest.mark.parametrize(
    "text",
    [
        "The answer says\nGrades: 10 1\nwhich I",
        "Both fine.\nGrades: 8 9\n\nThis was",
        "Both fine.\nGrades: 8 9",
        "Both fine.\nGrades:",
        "Both fine.\nGrades: 8",
        "Both fine",
    ],
)
def test_a_cut_before_the_end_of_reasons_is_truncated(text: str) -> None:
    assert parse.parse(text, PAIR_LAST, "length").status == "truncated"


@pytest.mark.parametrize("text", ["Both fine.\nGrades: 8 9\n", "Both fine.\nGrades: 8 10"])
def test_a_complete_last_verdict_survives_the_limit(text: str) -> None:
    assert parse.parse(text, PAIR_LAST, "length").status == "ok"


def test_reasons_are_what_stands_beside_the_verdict() -> None:
    assert parse.parse("8 9\n\nThe second.\n", PAIR).reasons == "The second."
    assert parse.parse("Scores: 8 9. Why?\nSo.", PAIR).reasons == "Why?\nSo."
    assert parse.parse("The second.\nGrades: 8 9", PAIR_LAST).reasons == "The second."
    assert parse.parse("One.\nTwo. Grades: 8 9", PAIR_LAST).reasons == "One.\nTwo."
    assert parse.parse("8 9", PAIR).reasons is None
    assert parse.parse("<think>hm</think>8 9\nSo.", PAIR).reasons == "So."


def test_ties_and_rankings() -> None:
    assert parse.parse("8 8", PAIR).preference == "tie"
    loose = ScoreRules(count=2, low=1, high=10, tie_gap=1)
    assert parse.parse("8 9", loose).preference == "tie"
    three = parse.parse("3 9 9", ScoreRules(count=3, low=1, high=10))
    assert (three.ranking, three.preference) == ((3, 1, 1), None)
    twelve = parse.parse(" ".join(["5"] * 12), ScoreRules(count=12, low=1, high=10))
    assert twelve.ranking == (1,) * 12


@pytest.mark.parametrize(
    "text",
    [
        "8 " * 50_000,
        "<think>" * 50_000,
        "</think>" * 2_000 + "8 9",
        "*" * 100_000,
        "8" * 100_000,
        "Answer 1: 8\n" * 10_000,
        "Score: " * 20_000,
        ". Score: 8" * 10_000,
        "[[8]]" * 20_000,
        "my final " * 20_000,
        "\n" * 100_000 + "8 9",
        "a " * 100_000,
        "(8" * 20_000,
    ],
)
@pytest.mark.timeout(10)
def test_long_replies_are_read_in_time(text: str) -> None:
    for rules in (PAIR, PAIR_LAST, SINGLE, SINGLE_LAST):
        parse.parse(text, rules)
        parse.parse(text, rules, "length")


@pytest.mark.parametrize("module", [parse, scores, numerals, refusals, outcome, untrusted])
def test_the_examples_in_the_docstrings_hold(module: object) -> None:
    failed, tried = doctest.testmod(module)  # type: ignore[arg-type]
    assert failed == 0
    assert tried > 0
