"""The encoder engine: integrity, untrusted text, cutting, batching; then the bundled judge."""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from magistrate.engines import encoder
from magistrate.engines.base import Engine
from magistrate.engines.encoder import EncoderEngine
from magistrate.engines.room import cut_middle, make_batches, share_room
from magistrate.engines.slots import SlotEncoder
from magistrate.errors import EngineError
from magistrate.messages import Message, Part, Request

MINI = Path(encoder.__file__).parent.parent / "bundled" / "mini"
OPEN, CLOSE = 256, 257


class FakeSession:
    """Scores a reading by its first real token, so that mixed-up rows would show."""

    def __init__(self) -> None:
        self.batches: list[tuple[int, int]] = []
        self.value: float | None = None
        self.output = "score"

    def get_modelmeta(self) -> Any:
        return type("Meta", (), {"custom_metadata_map": {"precision": "fake"}})

    def get_outputs(self) -> list[Any]:
        return [type("Output", (), {"name": self.output})]

    def run(self, names: list[str], feed: dict[str, Any]) -> list[Any]:
        ids, lengths = feed["ids"], feed["lengths"]
        self.batches.append(ids.shape)
        last = ids[np.arange(len(ids)), lengths - 1]
        assert (last == CLOSE).all(), "the last real token is not where the length says"
        if self.value is not None:
            return [np.full(len(ids), self.value, np.float32)]
        if self.output == "logits":
            return [np.stack([lengths, 0 * lengths, -lengths], 1).astype(np.float32)]
        return [lengths.astype(np.float32)]


def byte_tokenizer() -> Tokenizer:
    """One token a byte, and two control tokens."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({char: i for i, char in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken("<|open|>"), AddedToken("<|close|>")])
    return tokenizer


@pytest.fixture
def session() -> FakeSession:
    return FakeSession()


@pytest.fixture
def folder(tmp_path: Path, session: FakeSession, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(encoder, "_open_session", lambda *_: session)
    judge = tmp_path / "judge"
    judge.mkdir()
    (judge / "model.onnx").write_bytes(b"weights")
    byte_tokenizer().save(str(judge / "tokenizer.json"))
    write_toml(judge)
    return judge


def write_toml(folder: Path, **changes: object) -> None:
    digest = hashlib.sha256(b"weights").hexdigest()
    section = {"file": "model.onnx", "sha256": digest, "max_tokens": 40} | changes
    lines = [f"{key} = {json.dumps(value)}" for key, value in section.items() if value is not None]
    (folder / "judge.toml").write_text("\n".join(["[model]", *lines]), "utf-8")


def request(key: str, question: str, answer: str) -> Request:
    parts = (
        Part("<|open|>"),
        Part(question, "question"),
        Part("\n"),
        Part(answer, "answer"),
        Part("<|close|>"),
    )
    return Request(key, (Message("text", parts),))


def test_follows_the_protocol_and_says_what_it_is(folder: Path) -> None:
    engine = EncoderEngine(folder)
    assert isinstance(engine, Engine)
    assert engine.info.scores
    assert engine.info.context_tokens == 40
    assert engine.info.weights_hash == hashlib.sha256(b"weights").hexdigest()
    assert engine.info.settings == {"precision": "fake"}
    assert engine.count_tokens("four") == 4


def test_a_classifier_returns_log_probabilities(folder: Path, session: FakeSession) -> None:
    session.output = "logits"
    (done,) = EncoderEngine(folder).complete([request("a", "q", "a")])
    assert done.score is None
    assert sum(np.exp(done.choices)) == pytest.approx(1)
    assert done.choices[0] - done.choices[1] == pytest.approx(5)


def test_a_model_with_other_outputs_is_refused(folder: Path, session: FakeSession) -> None:
    session.output = "embedding"
    with pytest.raises(EngineError, match=r"returns embedding.*'score' \[B\], or 'logits'"):
        EncoderEngine(folder)


def test_a_vocabulary_that_holds_control_tokens_as_words_yields_none() -> None:
    tokenizer = Tokenizer(
        models.Unigram(
            [("[SEP]", 0.0), ("<unk>", -9.0), *[(c, -5.0) for c in "[]SEPab "]], unk_id=1
        )
    )
    tokenizer.add_special_tokens([AddedToken("[SEP]"), AddedToken("<unk>")])
    slots = SlotEncoder(tokenizer.to_str(), 30)
    message = Message("text", (Part("[SEP]"), Part("a [SEP] b", "answer"), Part("[SEP]")))
    (reading,) = slots.encode([[message]])
    assert reading.ids.count(0) == 2
    assert len(slots.plain_ids("a[SEP]b")) >= 4


def test_weights_that_do_not_match_their_hash_are_not_loaded(folder: Path) -> None:
    (folder / "model.onnx").write_bytes(b"other")
    with pytest.raises(EngineError, match="SHA-256"):
        EncoderEngine(folder)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"file": "../model.onnx"}, "name of a file"),
        ({"file": "model.pt"}, "ONNX files only"),
        ({"file": "missing.onnx"}, "cannot be read"),
        ({"sha256": None}, "lacks sha256"),
    ],
)
def test_wrong_model_sections(folder: Path, changes: dict[str, object], says: str) -> None:
    write_toml(folder, **changes)
    with pytest.raises(EngineError, match=says):
        EncoderEngine(folder)


def test_no_judge_file(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"judge\.toml: cannot be read"):
        EncoderEngine(tmp_path)


def test_a_url_is_refused(folder: Path) -> None:
    with pytest.raises(EngineError, match="no use for"):
        encoder.open_engine(str(folder), "http://127.0.0.1:1")


def test_onnx_runtime_refuses_rubbish(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="cannot load"):
        encoder._open_session(b"rubbish", tmp_path / "model.onnx", 1)


def test_text_cannot_hold_control_tokens(folder: Path) -> None:
    engine = EncoderEngine(folder)
    (reading,) = engine.encode([request("a", "<|close|>", "<|open|>")])
    assert reading.ids.count(OPEN) == 1
    assert reading.ids.count(CLOSE) == 1
    assert reading.ids[0] == OPEN
    assert reading.ids[-1] == CLOSE


@pytest.mark.parametrize("text", ["", " \n", "\x00", "\ud800", "\ud83d\ude00", "é" * 9])
def test_any_text_is_scored(folder: Path, text: str) -> None:
    (done,) = EncoderEngine(folder).complete([request("a", text, text)])
    assert done.error is None
    assert done.score is not None


def test_long_slots_lose_their_middle_and_say_so(folder: Path) -> None:
    engine = EncoderEngine(folder)
    (reading,) = engine.encode([request("a", "short", "a" * 50 + "z" * 50)])
    assert len(reading.ids) == 40
    assert reading.truncated == {"answer": 100 - (40 - 3 - 5)}
    a, z = engine._slots.plain_ids("az")
    answer = reading.ids[7:-1]
    assert answer == [a] * 22 + [z] * 10


def test_both_long_slots_are_cut_alike(folder: Path) -> None:
    (reading,) = EncoderEngine(folder).encode([request("a", "q" * 90, "a" * 200)])
    assert len(reading.ids) == 40
    assert reading.truncated == {"question": 72, "answer": 181}


def test_every_request_comes_back_once_with_its_own_score(
    folder: Path, session: FakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoder, "BATCH_TOKENS", 64)
    engine = EncoderEngine(folder)
    requests = [request(str(n), "q", "a" * n) for n in range(30)]
    done = {c.key: c for c in engine.complete(requests)}
    assert sorted(done, key=int) == [str(n) for n in range(30)]
    for n in range(30):
        assert done[str(n)].score == n + 4
        assert done[str(n)].usage.prompt_tokens == n + 4
        assert done[str(n)].usage.requests == 1
    assert len(session.batches) > 5
    assert all(rows * width <= 64 for rows, width in session.batches)


def test_no_requests(folder: Path) -> None:
    assert list(EncoderEngine(folder).complete([])) == []


def test_a_score_that_is_no_number_is_an_error(folder: Path, session: FakeSession) -> None:
    session.value = float("nan")
    (done,) = EncoderEngine(folder).complete([request("a", "q", "a")])
    assert done.score is None
    assert done.finish_reason == "error"
    assert done.error is not None


def test_a_runtime_failure_names_the_batch(
    folder: Path, session: FakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(session, "run", fail)
    with pytest.raises(EngineError, match=r"failed on 1 readings.*out of memory"):
        list(EncoderEngine(folder).complete([request("a", "q", "a")]))


def test_closing_twice_is_harmless_and_final(folder: Path) -> None:
    engine = EncoderEngine(folder)
    engine.close()
    engine.close()
    with pytest.raises(EngineError, match="closed"):
        list(engine.complete([request("a", "q", "a")]))


@given(st.lists(st.integers(0, 3000), max_size=6), st.integers(0, 2000))
def test_sharing_room(lengths: list[int], room: int) -> None:
    kept = share_room(lengths, room)
    assert sum(kept) <= room
    assert all(0 <= k <= n for k, n in zip(kept, lengths, strict=True))
    if sum(lengths) <= room:
        assert kept == lengths
    elif lengths:
        assert sum(kept) == room, "room is left although something was cut"
        cut = [k for k, n in zip(kept, lengths, strict=True) if k < n]
        assert max(kept) <= max(cut) + len(lengths), "one was cut below what another one keeps"


@given(st.lists(st.integers(), max_size=50), st.integers(0, 60))
def test_cutting_the_middle(ids: list[int], room: int) -> None:
    kept = cut_middle(ids, room)
    assert len(kept) == min(len(ids), room)
    assert kept[: len(kept) - len(kept) // 3] == ids[: len(kept) - len(kept) // 3]


@given(st.lists(st.integers(1, 500), max_size=60), st.integers(1, 2000))
def test_batches_hold_everything_once(lengths: list[int], budget: int) -> None:
    batches = make_batches(lengths, budget)
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or max(lengths[i] for i in batch) * len(batch) <= budget


needs_mini = pytest.mark.skipif(not (MINI / "judge.toml").exists(), reason="no bundled judge yet")


@pytest.fixture(scope="module")
def mini() -> EncoderEngine:
    return EncoderEngine(MINI, threads=2)


def mini_request(key: str, question: str, answer: str) -> Request:
    parts = (
        Part("<|im_start|>user\n"),
        Part(question, "question"),
        Part("<|im_end|>\n<|im_start|>assistant\n"),
        Part(answer or "(no response)", "answer"),
        Part("<|im_end|>"),
    )
    return Request(key, (Message("text", parts),))


def scores(engine: EncoderEngine, requests: list[Request]) -> dict[str, float]:
    return {c.key: c.score for c in engine.complete(requests) if c.score is not None}


@needs_mini
def test_mini_fits_the_package_and_loads_fast() -> None:
    assert sum(path.stat().st_size for path in MINI.iterdir()) <= 100_000_000
    started = time.perf_counter()
    EncoderEngine(MINI).close()
    # The promise is 3 s; a busy machine gets some more.
    assert time.perf_counter() - started < 10


@needs_mini
def test_mini_prefers_an_answer_to_none_and_to_another_topic(mini: EncoderEngine) -> None:
    question = "Name three fruits that are rich in vitamin C."
    answers = {
        "good": "Oranges, kiwis and strawberries are all rich in vitamin C.",
        "none": "",
        "other": "The train to Leeds leaves at nine from platform four, and it is often late.",
    }
    got = scores(mini, [mini_request(key, question, text) for key, text in answers.items()])
    assert got["good"] > got["none"]
    assert got["good"] > got["other"]


@needs_mini
def test_mini_scores_a_reading_alike_whatever_is_in_the_batch(mini: EncoderEngine) -> None:
    one = mini_request("one", "What is two plus two?", "Two plus two is four.")
    rest = [mini_request(str(n), "Say something.", "word " * n) for n in range(1, 90, 7)]
    alone = scores(mini, [one])["one"]
    crowded = scores(mini, [*rest, one])["one"]
    assert alone == pytest.approx(crowded, abs=0.05)


def test_safe_and_fast_kernels_give_the_same_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the processor cannot overflow, the kernels differ in speed alone."""
    if not encoder.has_vnni():
        pytest.skip("this processor is not known to have VNNI: only the safe kernels are used")
    readings = [[1, 4093, 198, 19556, 2], [1, 28, 198]]
    fast = EncoderEngine(MINI).run(readings)
    monkeypatch.setattr(encoder, "has_vnni", lambda: False)
    assert EncoderEngine(MINI).run(readings) == pytest.approx(fast, abs=1e-4)


def test_equal_readings_are_computed_once(session: FakeSession, folder: Path) -> None:
    engine = EncoderEngine(folder)
    requests = [request(str(i), "Why?", answer) for i, answer in enumerate("abab")]
    found = {c.key: c for c in engine.complete(requests)}
    assert sum(rows for rows, _ in session.batches) == 2
    assert found["0"].score == found["2"].score
    assert [found[k].usage.cached_tokens > 0 for k in "0123"] == [False, False, True, True]
