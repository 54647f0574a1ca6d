"""How readings are made: modes, long prompts, replies cut short, money, answers kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import pytest
from judging_help import PairFamily, WordEngine, pair, say, slot_text, word_judge, words

from magistrate.errors import CostLimitError, EngineError
from magistrate.judging.chunk import Manner
from magistrate.judging.judge import Judge, make_judge
from magistrate.judging.spending import Spending
from magistrate.judging.stream import judge_samples, requests_for
from magistrate.judging.window import MESSAGE_TOKENS, PROMPT_TOKENS
from magistrate.messages import Completion, Request
from magistrate.records import Judgment, Sample, Usage

FRAME = PROMPT_TOKENS + MESSAGE_TOKENS


def judged(judge: Judge, samples: list[Sample], manner: Manner | None = None) -> list[Judgment]:
    return [j for batch in judge_samples(judge, samples, manner=manner) for j in batch]


# Modes.


def test_score_mode_asks_for_the_distribution_where_the_engine_has_it() -> None:
    def weigh(request: Request) -> Completion:
        assert request.choices is not None
        return Completion(request.key, choices=(-1.0,) * request.choices.total)

    judge, engine = word_judge(weigh, mode="score", exact_choices=True)
    assert [j.status for j in judged(judge, [pair()])] == ["ok", "ok"]
    assert {request.choices for request in engine.seen} == {PairFamily().choices(2)}


@pytest.mark.parametrize(("mode", "exact"), [("reason", True), ("score", False)])
def test_otherwise_the_judge_writes(mode: str, exact: bool) -> None:
    judge, engine = word_judge(mode=mode, exact_choices=exact)
    judged(judge, [pair()])
    assert {request.choices for request in engine.seen} == {None}


def test_written_scores_come_with_log_probabilities_where_there_are_some() -> None:
    judge, engine = word_judge(mode="score", logprobs=True)
    judged(judge, [pair()])
    assert engine.seen[0].sampling.top_logprobs == 20
    judge, engine = word_judge(mode="reason", logprobs=True)
    judged(judge, [pair()])
    assert engine.seen[0].sampling.top_logprobs == 0


def test_all_that_changes_answers_makes_another_judge() -> None:
    ids = {
        word_judge(**values)[0].spec.id  # type: ignore[arg-type]
        for values in (
            {},
            {"mode": "score"},
            {"mode": "score", "exact_choices": True},
            {"max_tokens": 21},
            {"context_tokens": 4000},
            {"context_tokens": 5000},
        )
    }
    assert len(ids) == 6
    free = word_judge(price=None)[0].spec.id
    assert word_judge(price=(1.0, 2.0))[0].spec.id == free


def test_a_reply_is_not_waited_for_longer_than_half_the_window() -> None:
    judge, _ = word_judge(max_tokens=900, context_tokens=1000)
    assert judge.sampling.max_tokens == 500
    assert judge.spec.settings["sampling"]["max_tokens"] == 500


# Prompts that are too long.

LONG = pair(first=words(800, "f"), second=words(500, "s"))


def test_cuts_are_recorded_in_the_samples_own_order() -> None:
    judge, engine = word_judge(context_tokens=400)
    given, reversed_ = judged(judge, [LONG])
    assert given.order == (0, 1)
    assert given.truncated_tokens[0] > given.truncated_tokens[1] > 300
    assert reversed_.truncated_tokens == given.truncated_tokens
    assert given.truncated_question_tokens == 0
    for request in engine.seen:
        assert "tokens left out" in request.messages[0].text
        assert slot_text(request, "question") == "q"


def test_a_cut_of_the_question_is_recorded_apart() -> None:
    judge, _ = word_judge(context_tokens=400)
    judgment = judged(judge, [pair(question=words(5000))])[0]
    assert judgment.truncated_question_tokens > 4000
    assert judgment.truncated_tokens == ()
    assert judgment.was_truncated


def test_skip_leaves_out_what_is_too_long_and_nothing_else() -> None:
    judge, engine = word_judge(context_tokens=400)
    judgments = judged(judge, [LONG, pair()], Manner(on_overflow="skip"))
    assert [j.status for j in judgments] == ["truncated", "truncated", "ok", "ok"]
    assert (judgments[0].error or "").startswith("too_long: the prompt takes 1,3")
    assert judgments[0].finish_reason is None
    assert len(engine.seen) == 2


class CuttingEngine(WordEngine):
    """Cuts by itself, as the encoder does."""

    def cuts(self, requests: Sequence[Request]) -> list[dict[str, int]]:
        return [
            {"answer_1": 700} if len(slot_text(request, "answer_1").split()) > 100 else {}
            for request in requests
        ]


def test_an_engine_that_cuts_itself_is_not_cut_for_and_can_skip_too() -> None:
    def reply(request: Request) -> Completion:
        return replace(say("8 5")(request), truncated={"answer_1": 700})

    engine = CuttingEngine(reply, {"context_tokens": 100})
    judge = make_judge("cutting", PairFamily(), engine)  # type: ignore[arg-type]
    first = judged(judge, [LONG])[0]
    assert first.truncated_tokens == (700, 0)
    assert slot_text(engine.seen[0], "answer_1") == words(800, "f")
    engine.seen.clear()
    skipped = judged(judge, [LONG], Manner(on_overflow="skip"))
    assert [j.status for j in skipped] == ["truncated", "truncated"]
    assert "shorten answer_1 by 700 tokens" in (skipped[0].error or "")
    assert engine.seen == []


def test_what_the_server_finds_too_long_is_truncated_and_not_asked_again() -> None:
    judge, engine = word_judge(
        lambda r: Completion(r.key, error="too_long: the server says no", finish_reason="error")
    )
    assert {j.status for j in judged(judge, [pair()])} == {"truncated"}
    assert len(engine.seen) == 2


# Verdicts cut short.


def short_below(enough: int, final: str = "8 5") -> WordEngine:
    """Return an engine that needs so many tokens for its verdict."""

    def reply(request: Request) -> Completion:
        if request.sampling.max_tokens < enough:
            return replace(say("thinking", finish_reason="length")(request), cost=0.25, seconds=1.0)
        return replace(say(final)(request), cost=0.5, seconds=2.0)

    return WordEngine(reply)


def judge_on(engine: WordEngine, **values: object) -> Judge:
    engine.values.update(values)
    return make_judge("short", PairFamily(), engine)  # type: ignore[arg-type]


def test_a_verdict_cut_short_is_asked_for_once_more_with_twice_the_room() -> None:
    engine = short_below(40)
    judgments = judged(judge_on(engine), [pair(), pair("other")])
    assert [j.status for j in judgments] == ["ok"] * 4
    assert engine.batches == [4, 4]
    assert [r.sampling.max_tokens for r in engine.seen] == [20] * 4 + [40] * 4
    assert judgments[0].raw == "8 5"
    assert judgments[0].usage.requests == 2
    assert judgments[0].usage.completion_tokens == 1 + 2
    assert (judgments[0].cost, judgments[0].seconds) == (0.75, 3.0)


def test_a_verdict_that_is_cut_short_twice_is_truncated() -> None:
    engine = short_below(100)
    judgment = judged(judge_on(engine), [pair()])[0]
    assert (judgment.status, judgment.finish_reason) == ("truncated", "length")
    assert judgment.usage.requests == 2
    assert judgment.cost == 0.5
    assert len(engine.seen) == 4


def test_more_room_is_given_only_within_the_window() -> None:
    engine = short_below(25)
    prompt = 50
    judged(judge_on(engine, context_tokens=prompt + FRAME + 26), [pair(first=words(prompt - 13))])
    assert {r.sampling.max_tokens for r in engine.seen[2:]} <= set(range(21, 100))
    engine = short_below(40)
    full = judge_on(engine, context_tokens=400)
    engine.reply = lambda r: replace(
        say("hm", finish_reason="length")(r), usage=Usage(prompt_tokens=380, requests=1)
    )
    judged(full, [LONG])
    assert len(engine.seen) == 2  # the prompt fills the window: there is no more room


def test_a_failed_second_try_leaves_the_first_reply_and_its_price() -> None:
    engine = short_below(40)
    first = engine.reply

    def reply(request: Request) -> Completion:
        if request.sampling.max_tokens == 40:
            return Completion(request.key, error="the server is gone", cost=0.1)
        return first(request)

    engine.reply = reply
    judgment = judged(judge_on(engine), [pair()])[0]
    assert (judgment.status, judgment.raw) == ("truncated", "thinking")
    assert judgment.cost == pytest.approx(0.35)


def test_an_engine_that_dies_in_the_second_try_loses_nothing() -> None:
    engine = short_below(40)
    first = engine.reply

    def reply(request: Request) -> Completion:
        if request.sampling.max_tokens == 40:
            raise EngineError("the server is gone")
        return first(request) if "other" in request.messages[0].text else say("8 5")(request)

    engine.reply = reply
    got: list[Judgment] = []
    with pytest.raises(EngineError, match="the server is gone"):
        got.extend(j for b in judge_samples(judge_on(engine), [pair(), pair("other")]) for j in b)
    assert [j.status for j in got] == ["ok", "ok", "truncated", "truncated"]


# Engines that break their word.


def test_an_answer_that_nobody_asked_for_is_a_fault_of_the_engine() -> None:
    judge, _ = word_judge(lambda r: replace(say("8 5")(r), key="00/0"))
    with pytest.raises(EngineError, match=r"twice, or one that was not made \(00/0\)"):
        judged(judge, [pair()])


def test_requests_under_way_are_ended_when_judging_ends() -> None:
    ended: list[bool] = []

    class Open(WordEngine):
        def complete(self, requests: Sequence[Request]):  # type: ignore[no-untyped-def]
            try:
                yield from super().complete(requests)
            finally:
                ended.append(True)

    engine = Open()
    stream = judge_samples(judge_on(engine), [pair(str(i)) for i in range(9)])
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    assert ended == [True]


# Money.


def priced(**values: object) -> tuple[Judge, WordEngine]:
    """Return a judge whose request costs 0.08 dollars and could cost 0.095."""

    def reply(request: Request) -> Completion:
        return replace(say("8 5")(request), cost=0.08)

    engine = WordEngine(reply, {"price": (1000.0, 1000.0), **values})
    return make_judge("dear", PairFamily(), engine), engine  # type: ignore[arg-type]


def test_the_limit_of_costs_is_never_passed_and_comes_close() -> None:
    judge, engine = priced()
    spending = Spending(limit=1.0)
    got: list[Judgment] = []
    stream = judge_samples(
        judge, [pair(str(i)) for i in range(50)], manner=Manner(spending=spending)
    )
    with pytest.raises(CostLimitError, match=r"limit of \$1: \$0.9.* may take"):
        got.extend(j for batch in stream for j in batch)
    assert spending.spent == pytest.approx(0.08 * len(engine.seen))
    assert 0.85 < spending.spent <= 1.0
    assert len(got) == len(engine.seen)


def test_what_was_spent_before_counts() -> None:
    judge, engine = priced()
    with pytest.raises(CostLimitError):
        judged(judge, [pair()], Manner(spending=Spending(spent=0.95, limit=1.0)))
    assert engine.seen == []


def test_costs_without_a_known_price_stop_when_the_limit_is_passed() -> None:
    judge, engine = priced(price=None)
    with pytest.raises(CostLimitError, match="more than the requests should have cost"):
        judged(judge, [pair(str(i)) for i in range(9)], Manner(spending=Spending(limit=0.25)))
    assert len(engine.seen) == 4


def test_a_limit_with_a_free_engine_stops_nothing() -> None:
    judge, _ = word_judge()
    assert len(judged(judge, [pair()], Manner(spending=Spending(limit=0.01)))) == 2


# Answers kept.


class Memory:
    """A cache in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, Completion] = {}
        self.hits = 0

    def find(self, keys: Sequence[str]) -> Mapping[str, Completion]:
        return {key: self.kept[key] for key in keys if key in self.kept}

    def keep(self, items: Iterable[tuple[str, Completion]]) -> None:
        self.kept.update(items)


PLAIN = {"usage": Usage(), "cost": 0.0, "seconds": 0.0}


def test_a_kept_answer_gives_the_same_judgment_for_nothing() -> None:
    judge, engine = priced()
    memory = Memory()
    first = judged(judge, [pair()], Manner(cache=memory))
    assert memory.hits == 0
    again = judged(judge, [pair()], Manner(cache=memory))
    assert len(engine.seen) == 2
    assert memory.hits == 2
    assert [j.model_copy(update=PLAIN) for j in again] == [
        j.model_copy(update=PLAIN) for j in first
    ]
    assert again[0].cost == 0
    assert again[0].usage.cached_tokens == again[0].usage.prompt_tokens > 0
    assert (again[0].usage.requests, again[0].usage.completion_tokens) == (0, 0)


@pytest.mark.parametrize("text", ["no verdict here", ""])
def test_only_answers_with_an_ok_judgment_are_kept(text: str) -> None:
    judge, engine = word_judge(say(text))
    memory = Memory()
    judged(judge, [pair()], Manner(cache=memory))
    assert memory.kept == {}
    engine.reply = say("8 5")
    assert {j.status for j in judged(judge, [pair()], Manner(cache=memory))} == {"ok"}


def test_whatever_changes_the_answer_is_another_answer() -> None:
    memory = Memory()
    judges = [word_judge()[0], word_judge(mode="score")[0], word_judge(max_tokens=30)[0]]
    for judge in judges:
        judged(judge, [pair()], Manner(cache=memory))
    judged(judges[0], [pair("other")], Manner(cache=memory))
    list(judge_samples(judges[0], [pair()], repeats=2, manner=Manner(cache=memory)))
    assert memory.hits == 2  # the first repeat of both orders
    assert len(memory.kept) == 2 * len(judges) + 2 + 2


def test_a_judge_by_another_name_has_the_same_answers() -> None:
    memory, engine = Memory(), WordEngine()
    for name in ("one", "two"):
        judged(make_judge(name, PairFamily(), engine), [pair()], Manner(cache=memory))  # type: ignore[arg-type]
    assert memory.hits == 2


def test_an_engine_whose_digits_depend_on_the_batch_has_whole_batches_or_none() -> None:
    judge, engine = word_judge(batch_dependent=True)
    memory = Memory()
    samples = [pair("a"), pair("b")]
    judged(judge, samples, Manner(cache=memory))
    judged(judge, samples, Manner(cache=memory))
    assert engine.batches == [4]
    judged(judge, samples[:1], Manner(cache=memory))  # another batch: other digits
    assert engine.batches == [4, 2]
    del memory.kept[next(iter(memory.kept))]
    judged(judge, samples, Manner(cache=memory))
    assert engine.batches == [4, 2, 4]


def test_a_longer_second_reply_is_kept_for_the_first_request() -> None:
    engine, memory = short_below(40), Memory()
    judged(judge_on(engine), [pair()], Manner(cache=memory))
    seen = len(engine.seen)
    again = judged(judge_on(engine), [pair()], Manner(cache=memory))
    assert (len(engine.seen), again[0].status, again[0].raw) == (seen, "ok", "8 5")


def test_an_image_in_a_file_is_never_taken_from_the_cache() -> None:
    class Showing(PairFamily):
        image = "pictures/one.png"

        def prompts(self, sample, order):  # type: ignore[no-untyped-def]
            ((message,),) = super().prompts(sample, order)
            return ((replace(message, images=(self.image,)),),)

    memory, family = Memory(), Showing()
    judge = make_judge("showing", family, WordEngine(values={"images": True}))  # type: ignore[arg-type]
    judged(judge, [pair()], Manner(cache=memory))
    assert memory.kept == {}
    family.image = "https://example.org/one.png"
    judged(judge, [pair()], Manner(cache=memory))
    assert len(memory.kept) == 2


# Requests for somebody else.


def test_requests_for_a_file_have_keys_that_stay() -> None:
    judge, engine = word_judge()
    requests = list(requests_for(judge, [pair()]))
    judged(judge, [pair()])
    assert requests == engine.seen
    keys = [request.key for request in requests]
    assert [key.partition("/")[2] for key in keys] == ["0", "0"]
    done = {keys[0].partition("/")[0]}
    assert [r.key for r in requests_for(judge, [pair()], done=done)] == keys[1:]
    longer = list(requests_for(judge, [pair()], short=done))
    assert [r.sampling.max_tokens for r in longer] == [40, 20]


def test_what_has_no_answer_in_a_file_stays_open() -> None:
    judge, engine = word_judge()
    keys = [request.key for request in requests_for(judge, [pair()])]
    engine.complete = lambda requests: iter([say("8 5")(requests[1])])  # type: ignore[method-assign]
    judgments = judged(judge, [pair()], Manner(offline=True))
    assert [j.key for j in judgments] == [keys[1].partition("/")[0]]
