"""Replies: where they end, what is kept of them, and that neighbours do not matter."""

from __future__ import annotations

import math
from typing import Any

import hf_help
import pytest
from hf_help import byte_tokenizer, pair_prompt, tiny_engine, tiny_model, torch

from magistrate.engines.hf.engine import HfEngine
from magistrate.engines.hf.loading import LoadedModel
from magistrate.engines.hf.passes import PackedPasses, PlainPasses
from magistrate.engines.hf.settings import HfOptions
from magistrate.engines.hf.writing import Task, Writer, cut_at
from magistrate.errors import EngineError
from magistrate.messages import Completion, Message, Part, Request, Sampling


class Parrot:
    """A model that writes given tokens, whatever it reads; row by row in the order of prompts."""

    def __init__(self, scripts: dict[int, list[int]], vocab: int, room: int = 10**9) -> None:
        self._scripts = scripts
        self._vocab = vocab
        self._room = room
        self.config = tiny_model().config
        self.device = torch.device("cpu")
        self.widths: list[int] = []
        self._written: list[list[int]] = []

    def forward(self, input_ids: Any, attention_mask: Any, past_key_values: Any, **_: Any) -> Any:
        if input_ids.numel() > self._room:
            raise RuntimeError("out of memory")
        self.widths.append(len(input_ids))
        if input_ids.shape[1] > 1:
            self._written = [[int(row[-1])] for row in input_ids]
        else:
            kept = []
            for row in input_ids[:, -1].tolist():
                match = next(
                    w
                    for w in self._written
                    if self._scripts[w[0]][len(w) - 1] == row and w not in kept
                )
                kept.append(match)
            self._written = [[*w, 0] for w in kept]
        logits = torch.zeros(len(input_ids), 1, self._vocab)
        for row, written in enumerate(self._written):
            logits[row, 0, self._scripts[written[0]][len(written) - 1]] = 9.0
        return type("Output", (), {"logits": logits})

    __call__ = forward

    def _last(self, written: list[int]) -> int:
        return self._scripts[written[0]][len(written) - 1]


class NoCache:
    """Stands for a model's cache."""

    def __init__(self, config: Any = None) -> None:
        pass

    def batch_select_indices(self, rows: Any) -> None:
        pass


def write(
    tokenizer: Any,
    monkeypatch: pytest.MonkeyPatch,
    *replies: tuple[str, Sampling],
    room: int = 10**9,
) -> dict[int, Any]:
    """Let a model write given replies, each followed by the end of its turn."""
    monkeypatch.setattr("magistrate.engines.hf.writing.DynamicCache", NoCache)
    end = tokenizer.eos_token_id
    scripts = {100 + i: [*tokenizer(text)["input_ids"], end] for i, (text, _) in enumerate(replies)}
    tasks = [
        Task((7,) * (3 + i) + (100 + i,), sampling, frozenset({end}))
        for i, (_, sampling) in enumerate(replies)
    ]
    model = Parrot(scripts, len(tokenizer), room)
    writer = Writer(
        model, lambda ids: tokenizer.decode(ids, skip_special_tokens=True), budget=1000, rows=8
    )
    return {reply.index: reply for batch in writer.write(tasks) for reply in batch}


def sampling(**changes: Any) -> Sampling:
    return Sampling(**{"max_tokens": 40, **changes})


def test_a_reply_ends_with_the_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    reply = write(byte_tokenizer(), monkeypatch, ("8 9\nBoth are good.", sampling()))[0]
    assert (reply.text, reply.finish_reason) == ("8 9\nBoth are good.", "stop")
    assert reply.written == len(byte_tokenizer()("8 9\nBoth are good.")["input_ids"]) + 1


@pytest.mark.parametrize(
    ("said", "stops", "kept", "reason"),
    [
        ("10 10", ("\n",), "10 10", "stop"),
        ("8 9\nBecause", ("\n",), "8 9", "stop"),
        ("8 9 stop here", ("stop",), "8 9 ", "stop"),
        ("good answer.", (".", "good"), "", "stop"),
        ("a###b", ("##", "#"), "a", "stop"),
        ("in 中文 END x", ("END",), "in 中文 ", "stop"),
        ("8 9", ("",), "8 9", "stop"),
    ],
)
def test_stop_strings_never_cost_a_character(
    monkeypatch: pytest.MonkeyPatch, said: str, stops: tuple[str, ...], kept: str, reason: str
) -> None:
    reply = write(byte_tokenizer(), monkeypatch, (said, sampling(stop=stops)))[0]
    assert (reply.text, reply.finish_reason) == (kept, reason)


def test_a_reply_without_its_stop_string_is_whole_when_tokens_run_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tokenizer = byte_tokenizer()
    reply = write(tokenizer, monkeypatch, ("8 9 and so on", sampling(stop=("\n",), max_tokens=3)))[
        0
    ]
    assert reply.text == tokenizer.decode(tokenizer("8 9 and so on")["input_ids"][:3])
    assert (reply.finish_reason, reply.written) == ("length", 3)


def test_replies_of_many_lengths_are_written_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    said = ["1", "22 22", "a longer one\nwith lines", "", "x" * 30]
    found = write(byte_tokenizer(), monkeypatch, *((text, sampling(stop=("\n",))) for text in said))
    assert [found[i].text for i in range(5)] == ["1", "22 22", "a longer one", "", "x" * 30]


def test_batches_are_halved_when_memory_runs_out(monkeypatch: pytest.MonkeyPatch) -> None:
    said = ["1", "2 2", "3 3 3", "4 4 4 4"]
    found = write(byte_tokenizer(), monkeypatch, *((s, sampling()) for s in said), room=15)
    assert [found[i].text for i in range(4)] == said
    found = write(byte_tokenizer(), monkeypatch, *((s, sampling()) for s in said), room=5)
    assert [found[i].error is None for i in range(4)] == [True, True, False, False]


def requests_of(count: int, **changes: Any) -> list[Request]:
    return [
        Request(
            str(i),
            pair_prompt("Why?" * (1 + i % 3), "a" * (1 + 7 * i), "b"),
            sampling(max_tokens=12, **changes),
        )
        for i in range(count)
    ]


def ask(engine: HfEngine, requests: list[Request]) -> dict[str, Completion]:
    return {completion.key: completion for completion in engine.complete(requests)}


def without_batch(engine: HfEngine, request: Request) -> str:
    """Let transformers' own ``generate`` write the reply."""
    prompt = engine._encode(request)[0]
    ids = torch.tensor([prompt.ids])
    out = engine._model.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        max_new_tokens=request.sampling.max_tokens,
        do_sample=False,
        pad_token_id=0,
    )
    return engine._encoder.decode(out[0, len(prompt.ids) :].tolist())


@pytest.mark.parametrize("packed", [True, False], ids=["packed", "plain"])
@pytest.mark.parametrize(
    "make", ["llama", "gpt2", "mistral", "gemma2", "deepseek_v3", "bloom", "mamba"]
)
def test_replies_in_batches_equal_replies_of_generate(
    make: str, packed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes: dict[str, Any] = {
        "bloom": {"n_head": 4},
        "mistral": {"sliding_window": 16},
        "gemma2": {"sliding_window": 16},
        "deepseek_v3": hf_help.DEEPSEEK,
        "mamba": {"state_size": 8},
    }.get(make, {})
    tokenizer = byte_tokenizer()
    model = tiny_model(make, vocab=len(tokenizer), **changes)
    engine = tiny_engine(model, tokenizer, HfOptions(batch_tokens=300))
    assert isinstance(engine.passes, PackedPasses) == (make not in ("bloom", "mamba"))
    if not packed:
        monkeypatch.setattr(engine, "_passes", PlainPasses(model, 300))
    requests = requests_of(5)
    found = ask(engine, requests)
    for request in requests:
        assert found[request.key].text == without_batch(engine, request)


@pytest.mark.parametrize("changes", [{}, {"temperature": 1.0}, {"temperature": 0.7, "top_p": 0.6}])
def test_neighbours_and_sequence_do_not_matter(changes: dict[str, Any]) -> None:
    engine = tiny_engine(options=HfOptions(batch_replies=3))
    requests = requests_of(7, **changes)
    together = ask(engine, requests)
    backwards = ask(engine, requests[::-1])
    for request in requests:
        alone = ask(engine, [request])[request.key]
        assert alone.text == together[request.key].text == backwards[request.key].text


def test_seeds_and_prompts_give_other_draws() -> None:
    engine = tiny_engine()
    one, two = (requests_of(1, temperature=1.0, seed=seed)[0] for seed in (0, 1))
    texts = [ask(engine, [request])["0"].text for request in (one, one, two)]
    assert texts[0] == texts[1]
    assert texts[0] != texts[2]


def test_drawn_tokens_follow_the_distribution() -> None:
    from magistrate.engines.hf.sampling import Drawer

    logits = torch.log(torch.tensor([0.5, 0.3, 0.15, 0.05]))
    count = 2000
    for top_p, expected in ((1.0, [0.5, 0.3, 0.15, 0.05]), (0.7, [0.625, 0.375, 0, 0])):
        found = [0] * 4
        drawer = Drawer(Sampling(temperature=1.0, top_p=top_p), [1])
        for _ in range(count):
            found[drawer.choose(logits)] += 1
        for seen, share in zip(found, expected, strict=True):
            assert abs(seen / count - share) < 4 * math.sqrt(0.25 / count)
    hot = Drawer(Sampling(temperature=1e-9), [1])
    assert {hot.choose(logits) for _ in range(5)} == {0}


def test_logprobs_come_with_the_likeliest_tokens() -> None:
    engine = tiny_engine()
    request = requests_of(1, top_logprobs=5)[0]
    completion = ask(engine, [request])["0"]
    assert len(completion.logprobs) == completion.usage.completion_tokens
    prompt = engine._encode(request)[0]
    with torch.inference_mode():
        logits = engine._model(torch.tensor([prompt.ids])).logits[0, -1]
    best = logits.log_softmax(0).topk(5)
    first = completion.logprobs[0]
    assert [share for _, share in first.top] == pytest.approx(best.values.tolist(), abs=1e-4)
    assert first.logprob == pytest.approx(float(best.values[0]), abs=1e-4)
    assert first.token == first.top[0][0]


def test_logprobs_end_where_the_text_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = byte_tokenizer()
    reply = write(tokenizer, monkeypatch, ("8 9\nBecause", sampling(stop=("\n",), top_logprobs=1)))[
        0
    ]
    assert tokenizer.decode(reply.ids) == "8 9"
    assert len(reply.logprobs) == len(reply.ids)


def test_a_turn_ends_with_the_sign_of_the_chat_template() -> None:
    """Also where the model's own settings name another one."""
    tokenizer = byte_tokenizer()
    tokenizer.eos_token = "<|endoftext|>"
    engine = tiny_engine(tiny_model(vocab=len(tokenizer), eos_token_id=0), tokenizer)
    prompt = engine._encode(requests_of(1)[0])[0]
    assert engine._encoder.ends_of(prompt) == {0, tokenizer.convert_tokens_to_ids("<|im_end|>")}
    plain = engine._encode(Request("a", (Message("text", (Part("hello"),)),), sampling()))[0]
    assert engine._encoder.ends_of(plain) == {0}


def test_a_failing_model_is_an_error_of_the_engine() -> None:
    tokenizer = byte_tokenizer()
    engine = tiny_engine(tiny_model(vocab=100), tokenizer)  # fewer rows than words
    with pytest.raises(EngineError, match="model 'model' failed"):
        ask(engine, requests_of(1))


def test_a_closed_engine_says_so() -> None:
    engine = tiny_engine()
    engine.close()
    engine.close()
    with pytest.raises(EngineError, match="closed"):
        ask(engine, requests_of(1))


def test_what_the_engine_says_of_itself() -> None:
    info = tiny_engine().info
    assert (info.engine, info.exact_choices, info.logprobs) == ("hf", True, True)
    assert info.context_tokens == 512
    assert info.batch_dependent
    assert info.settings["dtype"] == "fp32"
    assert len(info.settings["template"]) == 16
    bare = HfEngine(LoadedModel(tiny_model(), byte_tokenizer(None), "fp32"), HfOptions())
    assert bare.info.settings["template"] == "none"
    assert "no chat template" in bare.info.settings["note"]
    off = tiny_engine(options=HfOptions(chat_template="none")).info.settings
    assert off["template"] == "none"
    assert "note" not in off


def test_cutting() -> None:
    assert cut_at("abc", ()) == "abc"
    assert cut_at("abcabc", ("c", "b")) == "a"
