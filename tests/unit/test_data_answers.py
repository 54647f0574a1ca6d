"""Asking models: nothing twice, nothing lost, everything marked."""

from __future__ import annotations

import doctest
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import magistrate as mg
from magistrate.data import answers, asking, questions
from magistrate.data.answers import (
    Decoding,
    answer_questions,
    checked_sampling,
    read_decoding,
)
from magistrate.data.asking import Prompt, Session, prompt_of
from magistrate.data.replies import Reply, ReplyFile
from magistrate.engines import naming
from magistrate.engines.base import EngineInfo
from magistrate.engines.naming import NamedEngine
from magistrate.errors import CostLimitError, EngineError, InputError, JudgeNotFoundError
from magistrate.formats.base import Notice
from magistrate.messages import Completion, Request, Sampling
from magistrate.records import Turn, Usage
from magistrate.store.lines import to_line
from magistrate.store.progress import Progress


class Model:
    """Says how often it was asked; fails, cuts and is silent as a prompt asks for."""

    def __init__(self, *, price: tuple[float, float] | None = None, unknown: bool = False) -> None:
        self.asked: list[Request] = []
        self.closed = 0
        self.failing = True
        self.info = EngineInfo(
            engine="fake", model="fake-1", price=price, price_unknown=unknown, preferred_batch=4
        )

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def complete(self, requests: Sequence[Request]) -> Iterator[Completion]:
        for request in requests:
            self.asked.append(request)
            said = request.messages[-1].text
            if "fail" in said and self.failing:
                yield Completion(request.key, error="told to fail")
                continue
            yield Completion(
                request.key,
                text="" if "silent" in said else f"re {said}",
                finish_reason="length" if "long" in said else "stop",
                usage=Usage(prompt_tokens=3, completion_tokens=2, requests=1),
                cost=1.0 if self.info.price else 0.0,
            )

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Model:
    return serve(monkeypatch, Model())


def serve(monkeypatch: pytest.MonkeyPatch, engine: Model) -> Model:
    def opened(name: str, options: Any = None) -> NamedEngine:
        return NamedEngine(engine, naming.split_label(name)[0] or "fake-1")

    monkeypatch.setattr(asking, "open_named_engine", opened)
    return engine


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def ask(session: Session, *texts: str) -> list[Reply]:
    with session.respondent("fake:1") as respondent:
        prompts = [prompt_of([Turn(role="user", text=text)], Sampling()) for text in texts]
        return respondent.ask(prompts)


# --- a session ---------------------------------------------------------------------------------


def test_nothing_is_asked_twice_whoever_asks(model: Model, tmp_path: Path) -> None:
    with Session(tmp_path / "asked") as session:
        first = ask(session, "a", "b", "a")
        again = ask(session, "b")
    assert [reply.text for reply in first] == ["re a", "re b", "re a"]
    assert again[0].text == "re b"
    with Session(tmp_path / "asked") as session:
        assert [reply.text for reply in ask(session, "b", "c")] == ["re b", "re c"]
        assert session.resumed == 1
    assert [request.messages[-1].text for request in model.asked] == ["a", "b", "c"]
    assert model.closed == 3


def test_other_words_other_settings_and_other_engines_are_asked_anew(
    model: Model, tmp_path: Path
) -> None:
    turns = [Turn(role="user", text="a")]
    prompts = [
        prompt_of(turns, Sampling()),
        prompt_of(turns, Sampling(seed=1)),
        prompt_of(turns, Sampling(temperature=0.5)),
        prompt_of(turns, Sampling(), "Be brief."),
        prompt_of([Turn(role="user", text="a "), *turns], Sampling()),
    ]
    with Session(tmp_path) as session, session.respondent("fake:1") as respondent:
        keys = {reply.key for reply in respondent.ask(prompts)}
    assert len(keys) == 5
    model.info = EngineInfo(engine="fake", model="fake-1", settings={"dtype": "float16"})
    with Session(tmp_path) as session, session.respondent("fake:1") as respondent:
        assert respondent.ask(prompts[:1])[0].key not in keys


def test_failures_are_told_once_and_asked_again_by_the_next_session(
    model: Model, tmp_path: Path
) -> None:
    seen: list[Progress] = []
    with Session(tmp_path, total=3, on_progress=seen.append) as session:
        replies = ask(session, "fail", "b")
        assert replies[0].error == "told to fail"
        with session.respondent("fake:1"):
            pass
        assert ask(session, "b")[0].error is None
    assert dict(seen[-1].counts) == {"ok": 2, "error": 1}
    assert len(model.asked) == 2
    model.failing = False
    with Session(tmp_path) as session:
        assert ask(session, "fail")[0].text == "re fail"
    assert len(model.asked) == 3


def test_a_line_half_written_is_dropped_and_its_reply_asked_again(
    model: Model, tmp_path: Path
) -> None:
    with Session(tmp_path) as session:
        ask(session, "a", "b")
    path = tmp_path / "replies.jsonl"
    data = path.read_bytes()
    path.write_bytes(data[:-7])
    with Session(tmp_path) as session:
        assert ask(session, "a", "b")[1].text == "re b"
    assert len(model.asked) == 3
    assert path.read_bytes() == data


def test_a_damaged_line_costs_its_own_reply_and_is_told(model: Model, tmp_path: Path) -> None:
    with Session(tmp_path) as session:
        ask(session, "a", "b")
    path = tmp_path / "replies.jsonl"
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"{damaged\n" + second)
    told: list[Notice] = []
    with Session(tmp_path, on_notice=told.append) as session:
        ask(session, "a", "b")
    assert [request.messages[-1].text for request in model.asked] == ["a", "b", "a"]
    assert "1 lines cannot be read" in told[0].message
    assert path.read_bytes().endswith(first)


def test_a_limit_of_cost_holds_over_commands(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model = serve(monkeypatch, Model(price=(0.0, 1e6 / 512)))  # a reply costs a dollar at most
    with pytest.raises(CostLimitError, match="max-cost"), Session(tmp_path, max_cost=2) as session:
        ask(session, "a", "b", "c")
    assert len(model.asked) == 2
    with pytest.raises(CostLimitError), Session(tmp_path, max_cost=2) as session:
        ask(session, "c")
    assert session.replies.cost == 2.0
    with Session(tmp_path, max_cost=3) as session:
        assert ask(session, "a", "c")[1].text == "re c"
    assert len(model.asked) == 3


def test_a_limit_needs_a_price(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    serve(monkeypatch, Model(unknown=True))
    with pytest.raises(EngineError, match="price"), Session(tmp_path, max_cost=1) as session:
        ask(session, "a")


def test_a_prompt_that_does_not_fit_fails_and_is_not_cut(model: Model, tmp_path: Path) -> None:
    model.info = EngineInfo(engine="fake", model="fake-1", context_tokens=200)
    with Session(tmp_path) as session:
        long, short = ask(session, "é " * 300, "a")
    assert long.error is not None
    assert long.error.startswith("too_long:")
    assert short.error is None
    assert model.asked[0].sampling.max_tokens == 100  # half of the window is left to the prompt


def test_the_session_is_one_commands_at_a_time(model: Model, tmp_path: Path) -> None:
    with Session(tmp_path), pytest.raises(mg.MagistrateError, match="being written"):
        Session(tmp_path).__enter__()


def test_what_a_file_of_replies_holds(tmp_path: Path) -> None:
    with ReplyFile(tmp_path) as file:
        file.append(Reply(key="k", model="m", error="down", cost=0.5))
        assert file.reply("k") is None
        assert file.failure("k") is not None
        file.append(Reply(key="k", model="m", text="\ud800", cost=0.25))
        assert file.failure("k") is None
    with ReplyFile(tmp_path) as file:
        found = file.reply("k")
        assert found is not None
        assert found.text == "\ud800"
        assert file.cost == 0.75
    assert to_line(Reply(key="k", model="m")) in to_line(Reply(key="k", model="m"))


# --- names and decodings -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "said"),
    [("mini", "names no model"), ("openai", "names no model"), ("scripted:echo#pair", "family")],
)
def test_what_names_no_model_is_refused(name: str, said: str) -> None:
    with pytest.raises(JudgeNotFoundError, match=said):
        naming.open_named_engine(name)


def test_a_label_goes_before_the_models_own_name() -> None:
    assert naming.open_named_engine("alder=scripted:echo").label == "alder"
    assert naming.open_named_engine("scripted:swayed,position=1").label == "swayed"


def test_decodings() -> None:
    base = Sampling(max_tokens=64, seed=3)
    assert read_decoding("greedy", base).sampling == base
    own = read_decoding("mine:temperature=0.2,top_p=0.5", base)
    assert own == Decoding("mine", Sampling(64, 0.2, 0.5, seed=3))
    assert own.model("m") == "m@mine"
    assert Decoding("default", base).described == "greedy"
    assert Decoding("default", Sampling(temperature=0.5)).described == "temperature=0.5"


@pytest.mark.parametrize(
    "text", ["mine", "a b:seed=1", "x:heat=1", "x:seed=a", "x:temperature=9", "x:max_tokens=0"]
)
def test_wrong_decodings_are_told(text: str) -> None:
    with pytest.raises(InputError):
        read_decoding(text, Sampling())


def test_samplings_are_checked() -> None:
    with pytest.raises(InputError, match="top_p"):
        checked_sampling(Sampling(), top_p=0)


# --- answers -----------------------------------------------------------------------------------


def test_answers_can_be_judged_as_they_are(tmp_path: Path) -> None:
    file = write(
        tmp_path / "q.jsonl",
        *({"question_id": i, "text": f"What is {i}?", "category": "c"} for i in range(5)),
    )
    made = answer_questions(
        file, engines=["scripted:echo", "babbler=scripted:words"], out=tmp_path / "a"
    )
    assert [(one.model, one.answers, one.ok) for one in made.files] == [
        ("echo", 5, 5),
        ("babbler", 5, 5),
    ]
    samples = list(mg.read_samples(*(one.path for one in made.files)))
    assert [sample.source_id for sample in samples] == ["0", "1", "2", "3", "4"]
    assert [answer.model for answer in samples[0].answers] == ["echo", "babbler"]
    assert samples[0].category == "c"
    run = mg.judge(samples, "scripted:longer", tmp_path / "run")
    assert mg.summarise(run).decisions["ok"] == 5


def test_several_turns_are_asked_in_turn(model: Model, tmp_path: Path) -> None:
    file = write(
        tmp_path / "q.jsonl",
        {"question_id": 81, "category": "writing", "turns": ["one", "two", "three"]},
        {"question_id": 82, "category": "math", "turns": ["only"]},
    )
    made = answer_questions(file, engines=["fake:1"], out=tmp_path / "a", system="Be kind.")
    dialogue = [(m.role, m.text) for m in model.asked[-1].messages]
    assert dialogue == [
        ("system", "Be kind."),
        ("user", "one"),
        ("assistant", "re one"),
        ("user", "two"),
        ("assistant", "re two"),
        ("user", "three"),
    ]
    first, second = mg.read_samples(made.files[0].path)
    assert first.question == "one"
    assert [turn.text for turn in first.answers[0].turns] == [
        *("re one", "two", "re two", "three", "re three"),
    ]
    assert first.answers[0].text == "re three"
    assert second.answers[0].turns == ()
    assert (
        answer_questions(file, engines=["fake:1"], out=tmp_path / "a", system="Be kind.").resumed
        == 4
    )
    assert len(model.asked) == 4


def test_dialogues_keep_their_turns(model: Model, tmp_path: Path) -> None:
    talk = [("user", "hi"), ("assistant", "hello"), ("user", "why?")]
    messages = [{"role": role, "content": text} for role, text in talk]
    file = write(tmp_path / "q.jsonl", {"id": "x", "messages": messages})
    made = answer_questions(file, engines=["fake:1"], out=tmp_path / "a")
    (sample,) = mg.read_samples(made.files[0].path)
    assert sample.question == tuple(Turn(role=r, text=t) for r, t in talk)  # type: ignore[arg-type]
    assert sample.answers[0].text == "re why?"


def test_cut_and_empty_answers_are_kept_and_marked_and_failures_listed(
    model: Model, tmp_path: Path
) -> None:
    texts = ["ok", "long", "silent", "fail"]
    file = write(tmp_path / "q.jsonl", *({"question_id": t, "turns": [t]} for t in texts))
    made = answer_questions(file, engines=["fake:1"], out=tmp_path / "a")
    (one,) = made.files
    assert (one.answers, one.ok, one.cut, one.empty, one.failed) == (3, 1, 1, 1, 1)
    assert {row["question_id"]: row["status"] for row in lines(Path(one.path))} == {
        "ok": "ok",
        "long": "cut",
        "silent": "empty",
    }
    (failure,) = lines(tmp_path / "a" / "asked" / "failures.jsonl")
    assert (failure["question_id"], failure["reason"], failure["turn"]) == (
        "fail",
        "told to fail",
        1,
    )
    assert [s.meta["status"] for s in mg.read_samples(one.path)] == ["ok", "cut", "empty"]
    model.failing = False
    again = answer_questions(file, engines=["fake:1"], out=tmp_path / "a")
    assert again.failed == 0
    assert not (tmp_path / "a" / "asked" / "failures.jsonl").exists()
    assert len(model.asked) == 5
    assert [row["question_id"] for row in lines(Path(one.path))] == texts


def test_a_turn_that_fails_ends_its_dialogue_alone(model: Model, tmp_path: Path) -> None:
    seen: list[Progress] = []
    file = write(
        tmp_path / "q.jsonl",
        {"question_id": 1, "turns": ["a", "fail", "b"]},
        {"question_id": 2, "turns": ["c", "d"]},
    )
    made = answer_questions(file, engines=["fake:1"], out=tmp_path / "a", on_progress=seen.append)
    assert (made.files[0].answers, made.failures[0]["turn"]) == (1, 2)
    assert (seen[-1].done, seen[-1].total) == (5, 5)


def test_every_decoding_has_a_file(tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text("What is one?\n\nWhat is two, pray tell me now?\n")
    chosen = [read_decoding(text, Sampling()) for text in ("greedy", "sampled:seed=5")]
    made = answer_questions(
        tmp_path / "q.txt", engines=["w=scripted:words"], out=tmp_path / "a", decodings=chosen
    )
    assert [Path(one.path).name for one in made.files] == ["w@greedy.jsonl", "w@sampled.jsonl"]
    greedy, sampled = (lines(Path(one.path)) for one in made.files)
    assert {row["decoding_method"] for row in sampled} == {"sampled"}
    assert [row["text"] for row in greedy] != [row["text"] for row in sampled]
    assert len(list(mg.read_samples(*(one.path for one in made.files)))) == 2


def test_two_models_of_one_name_are_refused(model: Model, tmp_path: Path) -> None:
    file = write(tmp_path / "q.jsonl", {"question": "a"})
    with pytest.raises(InputError, match="would both be called 'fake-1'"):
        answer_questions(file, engines=["fake:1", "fake:2"], out=tmp_path / "a")
    assert answer_questions(file, engines=["x=fake:1", "y=fake:2"], out=tmp_path / "b").failed == 0


def test_an_engine_that_gives_up_leaves_what_was_answered(
    model: Model, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def gives_up(requests: Sequence[Request]) -> Iterator[Completion]:
        yield from Model.complete(model, requests[:1])
        raise EngineError("the server is gone")

    file = write(tmp_path / "q.jsonl", *({"question": f"q{i}"} for i in range(6)))
    answer_questions(file, engines=["fake:1"], out=tmp_path / "a", limit=4)
    with monkeypatch.context() as patch:
        patch.setattr(model, "complete", gives_up)
        with pytest.raises(EngineError, match="gone"):
            answer_questions(file, engines=["fake:1"], out=tmp_path / "a")
    assert len(lines(tmp_path / "a" / "fake-1.jsonl")) == 4
    answer_questions(file, engines=["fake:1"], out=tmp_path / "a")
    assert len(lines(tmp_path / "a" / "fake-1.jsonl")) == 6
    assert len(model.asked) == 6


def test_a_prompts_texts_are_data(tmp_path: Path) -> None:
    prompt = prompt_of([Turn(role="user", text="<|im_end|>{x}")], Sampling(), "System.")
    assert isinstance(prompt, Prompt)
    assert [part.slot for message in prompt.messages for part in message.parts] == [
        None,
        "question",
    ]


@pytest.mark.parametrize("module", [answers, asking, naming, questions])
def test_examples_in_docstrings(module: Any) -> None:
    assert doctest.testmod(module).failed == 0
