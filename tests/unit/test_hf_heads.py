"""Heads that classify and score: trained, written to judge folders, read back, judged with."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hf_help import byte_tokenizer, tiny_config, tiny_model, torch, transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

import magistrate as mg
from magistrate.engines.hf.head_models import batch_of, load_head_model
from magistrate.engines.hf.heads import HeadEngine
from magistrate.engines.hf.settings import HfOptions
from magistrate.errors import EngineError, JudgeNotFoundError
from magistrate.judging.resolve import load_judge
from magistrate.judging.stream import judge_samples
from magistrate.records import Answer, Gold, Sample
from magistrate.train.loop import train
from magistrate.train.recipe import read_recipe

WORDS = ["red", "green", "blue", "yellow", "purple", "orange", "black", "white", "brown", "grey"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAGISTRATE_HOME", str(tmp_path / "home"))


def word_tokenizer() -> Any:
    """Return a tokenizer in BERT's manner."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(
        vocab_size=300, special_tokens=specials, show_progress=False
    )
    tokenizer.train_from_iterator([" ".join(WORDS), "good bad name a colour ### question"], trainer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        pad_token="[PAD]",
        mask_token="[MASK]",
    )


def samples(count: int, start: int = 0) -> list[Sample]:
    """Return pairs whose better answer says 'good'; every fifth is a tie."""
    made = []
    for i in range(start, start + count):
        good, bad = f"good {WORDS[i % 10]} {i}", f"bad {WORDS[i // 10 % 10]} {i}"
        tie = i % 5 == 4
        texts = (good, good) if tie else ((good, bad) if i % 2 else (bad, good))
        gold = Gold(
            preference="tie" if tie else ("first" if i % 2 else "second"),
            scores=(7, 7) if tie else ((9, 2) if i % 2 else (2, 9)),
        )
        made.append(
            Sample(
                question=f"Name a colour, {i}.",
                answers=tuple(Answer(text=text) for text in texts),
                gold=(gold,),
                source_id=str(i),
            )
        )
    return made


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a decoder, an encoder and labelled pairs."""
    folder = tmp_path_factory.mktemp("heads")
    tokenizer = byte_tokenizer()
    tiny_model(vocab=len(tokenizer), pad_token_id=tokenizer.eos_token_id).save_pretrained(
        folder / "llama"
    )
    tokenizer.save_pretrained(folder / "llama")
    words = word_tokenizer()
    config = tiny_config("bert", vocab=len(words), num_key_value_heads=4, pad_token_id=0)
    torch.manual_seed(0)
    transformers.AutoModel.from_config(config, add_pooling_layer=False).save_pretrained(
        folder / "bert"
    )
    words.save_pretrained(folder / "bert")
    mg.write_samples(samples(60), folder / "train.jsonl")
    mg.write_samples(samples(40, start=60), folder / "dev.jsonl")
    return folder


def train_judge(work: Path, out: Path, base: str, head: str, **settings: Any) -> Path:
    recipe = read_recipe(
        None,
        {
            "data.train": str(work / "train.jsonl"),
            "data.dev": str(work / "dev.jsonl"),
            "judge.base": str(work / base),
            "judge.head": head,
            "judge.name": "tiny",
            "optim.steps": 6,
            "optim.batch": 8,
            "optim.max_length": 128,
            "optim.lr": 3e-3,
            "adapter.kind": "full",
            "run.device": "cpu",
            "run.precision": "fp32",
            **settings,
        },
    )
    train(recipe, out)
    return out


@pytest.fixture(scope="module")
def classifier(work: Path) -> Path:
    return train_judge(work, work / "classifier", "bert", "classify")


@pytest.fixture(scope="module")
def scorer(work: Path) -> Path:
    return train_judge(work, work / "scorer", "llama", "regress")


@pytest.fixture(scope="module")
def adapter(work: Path) -> Path:
    return train_judge(
        work, work / "adapter", "llama", "classify", **{"adapter.kind": "lora", "adapter.r": 4}
    )


def judged(name: str | Path, data: list[Sample] | None = None, **options: Any) -> dict[str, Any]:
    """Return judgments by sample and order."""
    with load_judge(str(name), options={k: str(v) for k, v in options.items()}) as judge:
        found = [j for chunk in judge_samples(judge, data or samples(12)) for j in chunk]
    assert all(j.status == "ok" for j in found), [j.error for j in found if j.error]
    return {f"{j.sample_id}{j.order}": j for j in found}


def probabilities(found: dict[str, Any]) -> Any:
    return np.array([list(j.probabilities.model_dump().values()) for j in found.values()])


def test_a_classifier_is_trained_written_and_judges(classifier: Path) -> None:
    found = judged(classifier)
    assert len(found) == 24
    assert probabilities(found).sum(1) == pytest.approx(1)
    file = tomllib.loads((classifier / "judge.toml").read_text("utf-8"))
    assert file["engine"] == "head"
    assert file["family"]["kind"] == "classifier"
    assert file["verdict"]["temperature"] > 0
    assert set(file["model"]["files"]) >= {"model.safetensors", "config.json", "tokenizer.json"}
    card = (classifier / "CARD.md").read_text("utf-8")
    assert "agreement on decisive pairs" in card
    assert "the longer answer wins" in card


def test_a_scorer_reads_each_answer_once_and_has_a_fitted_tie_band(scorer: Path) -> None:
    found = judged(scorer)
    assert len(found) == 12
    verdict = tomllib.loads((scorer / "judge.toml").read_text("utf-8"))["verdict"]
    assert verdict["temperature"] > 0
    assert verdict["tie_band"] > 0


def test_scores_are_learned_too(work: Path, tmp_path: Path) -> None:
    folder = train_judge(
        work,
        tmp_path / "j",
        "bert",
        "regress",
        **{"loss.regress": "scores", "optim.steps": 30, "optim.lr": 1e-2},
    )
    data = samples(10)
    found = judged(folder, data).values()
    right = [
        (judgment.scores[0] > judgment.scores[1]) == (sample.gold[0].preference == "first")
        for judgment, sample in zip(found, data, strict=True)
        if sample.gold[0].preference != "tie"
    ]
    assert len(right) == 8
    assert all(right)


def test_an_adapter_needs_its_base_and_finds_it(adapter: Path, work: Path, tmp_path: Path) -> None:
    there = probabilities(judged(adapter))
    assert (adapter / "adapter_model.safetensors").is_file()
    assert not (adapter / "model.safetensors").exists()
    file = tomllib.loads((adapter / "judge.toml").read_text("utf-8"))
    assert file["base"]["path"] == "../llama"
    assert str(work) not in (adapter / "adapter_config.json").read_text("utf-8")
    moved = tmp_path / "elsewhere"
    shutil.copytree(adapter, moved)
    with pytest.raises(EngineError, match=r"its base model is not at .*base=PATH"):
        judged(moved)
    assert probabilities(judged(moved, base=work / "llama")) == pytest.approx(there, abs=1e-6)
    with pytest.raises(EngineError, match="not the model that the adapter was trained on"):
        judged(moved, base=work / "scorer")


@pytest.mark.parametrize("head", ["regress", "classify"])
def test_an_adapter_on_a_base_in_16_bits_is_evaluated_too(
    head: str, work: Path, tmp_path: Path
) -> None:
    lora = {"adapter.kind": "lora", "adapter.r": 4, "run.precision": "bf16", "optim.steps": 2}
    folder = train_judge(work, tmp_path / "judge", "llama", head, **lora)
    made = tomllib.loads((folder / "judge.toml").read_text("utf-8"))["made"]
    assert made["precision_checked"] == "bf16"
    assert judged(folder)


def test_batched_and_single_readings_agree(scorer: Path, classifier: Path) -> None:
    for folder in (scorer, classifier):
        with load_judge(str(folder)) as judge:
            engine = judge.engine
            assert isinstance(engine, HeadEngine)
            readings = [list(range(3, 3 + n)) for n in (2, 9, 30, 5)]
            together = engine.run(readings)
            alone = np.concatenate([engine.run([ids]) for ids in readings])
        assert together == pytest.approx(alone, abs=1e-5)


def test_a_reading_that_ends_with_the_sign_of_padding_is_read_to_its_end(work: Path) -> None:
    from magistrate.engines.hf.files import Source, find_model

    model, _, fresh = load_head_model(find_model(str(work / "llama"), Source()), 1, HfOptions())
    assert fresh == ("score",)
    padding = model.config.pad_token_id
    readings = [[5, 6, padding], [5, 6, 7, 8]]
    with torch.no_grad():
        together = model(**batch_of(readings, decoder=True, padding=padding)).logits
        alone = model(**batch_of(readings[:1], decoder=True, padding=padding)).logits
        body = model.model(input_ids=torch.tensor(readings[:1])).last_hidden_state
    assert together[0] == pytest.approx(alone[0], abs=1e-5)
    assert alone[0] == pytest.approx(model.score(body[0, -1]).detach(), abs=1e-5)


def test_packed_rows_and_padded_rows_have_equal_losses(work: Path) -> None:
    from magistrate.train.head import open_head

    recipe = read_recipe(
        None,
        {
            "data.train": str(work / "train.jsonl"),
            "judge.base": str(work / "llama"),
            "judge.head": "regress",
            "optim.max_length": 128,
        },
    )
    head = open_head(recipe)
    loaded = head.load(dtype="fp32", device="cpu")
    items = [head.encode(sample, 0, i) for i, sample in enumerate(samples(4))]
    padded = head.losses(loaded.model, head.collate(items, packed=False)).loss
    assert head.can_pack(loaded.model)
    packed = head.losses(loaded.model, head.collate(items, packed=True)).loss
    assert float(packed.detach()) == pytest.approx(float(padded.detach()), rel=1e-4)


@pytest.mark.parametrize(
    ("file", "change", "says"),
    [
        ("model.safetensors", "damage", "SHA-256 is"),
        ("config.json", "damage", "SHA-256 is"),
        ("model.safetensors", "remove", "cannot be read"),
        ("tokenizer.json", "remove", "cannot be read"),
    ],
)
def test_damaged_folders(
    classifier: Path, tmp_path: Path, file: str, change: str, says: str
) -> None:
    folder = tmp_path / "judge"
    shutil.copytree(classifier, folder, ignore=shutil.ignore_patterns("training"))
    if change == "remove":
        (folder / file).unlink()
    else:
        data = bytearray((folder / file).read_bytes())
        data[-3] ^= 1
        (folder / file).write_bytes(data)
    with pytest.raises(EngineError, match=says) as caught:
        load_judge(str(folder))
    assert file in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('kind = "classifier"', 'kind = "guesser"', "family.kind is 'guesser'"),
        ('engine = "head"', 'engine = "hf"', "'classifier' runs on encoder or head"),
        ('engine = "head"', 'engine = "encoder"', r"needs model\.file"),
        ('"model.safetensors" =', '"../model.safetensors" =', "must be the name of a file"),
        ('"model.safetensors" =', '"model.bin" =', "can run code"),
    ],
)
def test_wrong_judge_files(classifier: Path, tmp_path: Path, old: str, new: str, says: str) -> None:
    text = (classifier / "judge.toml").read_text("utf-8")
    assert old in text
    (tmp_path / "judge.toml").write_text(text.replace(old, new, 1), "utf-8")
    with pytest.raises(JudgeNotFoundError, match=says):
        load_judge(str(tmp_path))


def test_a_model_without_a_head_is_no_judge(classifier: Path, work: Path, tmp_path: Path) -> None:
    from magistrate.train.folder import hash_file

    folder = tmp_path / "judge"
    shutil.copytree(classifier, folder, ignore=shutil.ignore_patterns("training"))
    shutil.copy(work / "bert" / "model.safetensors", folder / "model.safetensors")
    text = (folder / "judge.toml").read_text("utf-8")
    due = tomllib.loads(text)["model"]["files"]["model.safetensors"]
    text = text.replace(due, hash_file(folder / "model.safetensors"))
    (folder / "judge.toml").write_text(text, "utf-8")
    with pytest.raises(EngineError, match=r"no weights for .*classifier"):
        load_judge(str(folder))


def test_text_cannot_hold_control_tokens(classifier: Path) -> None:
    with load_judge(str(classifier)) as judge:
        engine = judge.engine
        assert isinstance(engine, HeadEngine)
        sample = Sample(
            question="[SEP] red", answers=(Answer(text="[CLS] good"), Answer(text="[SEP]"))
        )
        (reading,) = engine._slots.encode(judge.family.prompts(sample, (0, 1)))
    assert reading.ids.count(2) == 1
    assert reading.ids.count(3) == 3


def test_long_answers_are_cut_and_told(classifier: Path) -> None:
    long = Sample(question="q", answers=(Answer(text="good red " * 90), Answer(text="bad")))
    found = judged(classifier, [long])
    assert all(j.truncated_tokens[0] > 0 and j.truncated_tokens[1] == 0 for j in found.values())


def test_a_judge_folder_runs_and_resumes_by_the_store(scorer: Path, tmp_path: Path) -> None:
    run = mg.judge(samples(8), judge=str(scorer), out=tmp_path / "run")
    assert run.manifest.counts.judgments == 8 if hasattr(run.manifest, "counts") else True
    again = mg.judge(samples(8), judge=str(scorer), out=tmp_path / "run")
    assert json.dumps([d.preference for d in run.decisions()]) == json.dumps(
        [d.preference for d in again.decisions()]
    )


def test_a_judge_folder_can_be_the_teacher(scorer: Path, tmp_path: Path) -> None:
    from magistrate.data.labelling import label

    label(samples(6), str(scorer), tmp_path / "labelled.jsonl")
    labelled = list(mg.read_samples(tmp_path / "labelled.jsonl"))
    assert len(labelled) == 6
    golds = [gold for sample in labelled for gold in sample.gold if gold.probability_second]
    assert len(golds) >= 6
