"""Planning, streaming and merging, with scripted judges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from magistrate.engines.base import PREFERRED_BATCH, EngineInfo
from magistrate.engines.scripted import ScriptedEngine, open_engine
from magistrate.errors import EngineError, MissingVariablesError
from magistrate.judging.judge import Judge, make_judge
from magistrate.judging.merge import decide, merge_judgments
from magistrate.judging.orders import orders_to_read, to_own_order
from magistrate.judging.plan import Plan
from magistrate.judging.stream import judge_samples
from magistrate.messages import Completion, Message, Part, Request, Sampling
from magistrate.prompts.base import Verdict
from magistrate.records import Answer, Judgment, Probabilities, Sample


class PlainFamily:
    """Asks for one score per answer and reads the first line."""

    name = "plain"
    prompt_hash = "plain-1"
    min_answers = 2
    max_answers: int | None = 2
    reads_alone = False
    sampling = Sampling(max_tokens=8)

    def prompts(self, sample: Sample, order: Sequence[int]) -> tuple[tuple[Message, ...], ...]:
        if sample.question == "needs a reference":
            raise MissingVariablesError("plain", ["reference"], sample.id)
        parts = [Part(sample.question_text, "question")]
        parts += [
            Part(sample.answers[answer].text, f"answer_{place + 1}")
            for place, answer in enumerate(order)
        ]
        return ((Message("user", tuple(parts)),),)

    def read(
        self, completions: Sequence[Completion], sample: Sample, order: Sequence[int]
    ) -> Verdict:
        words = completions[0].text.split("\n")[0].split()
        if len(words) != 2 or not all(word.isdigit() for word in words):
            return Verdict("unparsed", error="no two scores on the first line")
        first, second = map(float, words)
        return Verdict(
            "ok",
            preference="first" if first > second else "second" if second > first else "tie",
            scores=(first, second),
        )


def pair(question: str = "q", first: str = "a long answer", second: str = "short") -> Sample:
    return Sample(question=question, answers=(Answer(text=first), Answer(text=second)))


def judge_with(rule: str) -> Judge:
    return make_judge("test", PlainFamily(), open_engine(rule))


def all_judgments(judge: Judge, samples: list[Sample], **options: object) -> list[Judgment]:
    return [j for batch in judge_samples(judge, samples, **options) for j in batch]  # type: ignore[arg-type]


def test_both_orders_map_back_to_the_samples_own_order() -> None:
    judgments = all_judgments(judge_with("longer"), [pair()])
    assert [j.order for j in judgments] == [(0, 1), (1, 0)]
    assert [j.preference for j in judgments] == ["first", "first"]
    assert [j.scores for j in judgments] == [(8.0, 5.0), (8.0, 5.0)]


def test_a_judge_that_prefers_the_first_place_contradicts_itself() -> None:
    sample = pair()
    judgments = all_judgments(judge_with("first"), [sample])
    assert [j.preference for j in judgments] == ["first", "second"]
    decision = merge_judgments(0, sample, judgments)
    assert decision.preference == "tie"
    assert decision.consistent is False


def test_equal_text_is_read_once() -> None:
    samples = [pair(), pair(), pair("other")]
    assert len(all_judgments(judge_with("longer"), samples)) == 4


def test_done_keys_are_not_yielded_again() -> None:
    judge = judge_with("longer")
    samples = [pair(str(i)) for i in range(10)]
    every = all_judgments(judge, samples)
    done = {j.key for j in every[:7]}
    assert all_judgments(judge, samples, done=done) == every[7:]


def test_given_order_halves_the_readings_and_repeats_multiply_them() -> None:
    judge = judge_with("longer")
    assert len(all_judgments(judge, [pair()], orders="given")) == 1
    assert len(all_judgments(judge, [pair()], repeats=3)) == 6
    assert len(set(Plan.of(judge, repeats=3).keys_of(pair()))) == 6


def test_what_cannot_be_asked_becomes_a_failed_judgment_and_the_others_go_on() -> None:
    lone = Sample(question="q", answers=(Answer(text="only one"),))
    judgments = all_judgments(judge_with("longer"), [lone, pair("needs a reference"), pair()])
    assert [j.status for j in judgments] == ["error", "error", "error", "ok", "ok"]
    assert "has 1 answer; family 'plain' needs 2" in (judgments[0].error or "")
    assert "needs reference" in (judgments[1].error or "")


@pytest.mark.parametrize(
    ("rule", "status"), [("nonsense", "unparsed"), ("fail", "error"), ("refuse", "unparsed")]
)
def test_what_fails_never_votes(rule: str, status: str) -> None:
    sample = pair()
    judgments = all_judgments(judge_with(rule), [sample])
    assert {j.status for j in judgments} == {status}
    decision = merge_judgments(0, sample, judgments)
    assert (decision.status, decision.preference, decision.scores) == (status, None, None)


class BatchEngine(ScriptedEngine):
    """Records what it was asked at once; stops working after some requests."""

    def __init__(self, stop_after: int | None = None, *, batch_dependent: bool = True) -> None:
        super().__init__("longer")
        object.__setattr__(self, "batches", [])
        object.__setattr__(self, "stop_after", stop_after)
        object.__setattr__(self, "batch_dependent", batch_dependent)

    @property
    def info(self) -> EngineInfo:
        return EngineInfo(engine="batch", model="m", batch_dependent=self.batch_dependent)  # type: ignore[attr-defined]

    def complete(self, requests: Sequence[Request]) -> Iterator[Completion]:
        self.batches.append(len(requests))  # type: ignore[attr-defined]
        for number, completion in enumerate(super().complete(requests)):
            if number == self.stop_after:  # type: ignore[attr-defined]
                raise EngineError("the server is gone")
            yield completion


def test_batch_dependent_engines_get_the_whole_chunk_again() -> None:
    samples = [pair(str(i)) for i in range(PREFERRED_BATCH)]
    engine = BatchEngine()
    judge = make_judge("test", PlainFamily(), engine)
    every = all_judgments(judge, samples)
    assert engine.batches == [PREFERRED_BATCH, PREFERRED_BATCH]  # type: ignore[attr-defined]
    done = {j.key for j in every[: PREFERRED_BATCH + 3]}
    assert all_judgments(judge, samples, done=done) == every[PREFERRED_BATCH + 3 :]
    assert engine.batches[2:] == [PREFERRED_BATCH]  # type: ignore[attr-defined]


def test_other_engines_get_only_what_is_missing() -> None:
    samples = [pair(str(i)) for i in range(10)]
    engine = BatchEngine(batch_dependent=False)
    judge = make_judge("test", PlainFamily(), engine)
    every = all_judgments(judge, samples)
    all_judgments(judge, samples, done={j.key for j in every[:15]})
    assert engine.batches == [20, 5]  # type: ignore[attr-defined]


def test_what_is_known_is_yielded_before_the_engine_gives_up() -> None:
    engine = BatchEngine(stop_after=5)
    judge = make_judge("test", PlainFamily(), engine)
    got: list[Judgment] = []
    stream = judge_samples(judge, [pair(str(i)) for i in range(10)])
    with pytest.raises(EngineError, match="the server is gone"):
        got.extend(judgment for batch in stream for judgment in batch)
    assert len(got) == 5


def test_a_missing_completion_is_an_error() -> None:
    class Forgetful(BatchEngine):
        def complete(self, requests: Sequence[Request]) -> Iterator[Completion]:
            yield from super().complete(requests[1:])

    judge = make_judge("test", PlainFamily(), Forgetful())
    judgments = all_judgments(judge, [pair()])
    assert [j.status for j in judgments] == ["error", "ok"]


def test_pending_samples_have_no_decision() -> None:
    judge = judge_with("longer")
    samples = [pair(str(i)) for i in range(3)]
    known = {j.key: j for j in all_judgments(judge, samples)[:3]}
    assert [d.row for d in decide(Plan.of(judge), samples, known.get)] == [0]


def _judgment(order: tuple[int, ...], first: float, second: float) -> Judgment:
    probabilities = Probabilities(first=first, tie=1 - first - second, second=second)
    return Judgment(
        key=f"{order}",
        sample_id="s",
        judge="j",
        order=order,
        status="ok",
        preference=probabilities.preference,
        probabilities=probabilities,
    )


def test_mean_probability_lets_the_surer_order_win() -> None:
    decision = merge_judgments(
        0, pair(), [_judgment((0, 1), 0.9, 0.05), _judgment((1, 0), 0.4, 0.5)]
    )
    assert decision.preference == "first"
    assert decision.confidence == pytest.approx(0.65)
    assert decision.consistent is False


def test_orders() -> None:
    assert orders_to_read(1, "both", reads_alone=False) == ((0,),)
    assert orders_to_read(3, "both", reads_alone=False) == ((0, 1, 2), (2, 1, 0))
    assert to_own_order(("x", "y", "z"), (2, 0, 1)) == ("y", "z", "x")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("clever", "no rule 'clever'"),
        ("first,speed=1", "no option 'speed'"),
        ("first,delay=x", "needs a number"),
        ("first,fail=2", "out of range"),
    ],
)
def test_scripted_engine_names_its_problem(name: str, message: str) -> None:
    with pytest.raises(EngineError, match=message):
        open_engine(name)


def test_scripted_shares_are_met() -> None:
    samples = [pair(str(i)) for i in range(500)]
    judgments = all_judgments(judge_with("longer,fail=0.2"), samples)
    failed = sum(j.status == "error" for j in judgments)
    assert 150 < failed < 250
