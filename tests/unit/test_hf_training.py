"""Losses and gradients of trainings, on a tiny model: packed, padded, part by part, soft."""

from __future__ import annotations

import csv
import tomllib
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the extra [train] is not installed: no torch")
pytest.importorskip("peft", reason="the extra [train] is not installed: no peft")

from hf_help import tiny_model  # noqa: E402
from train_help import toy_recipe, toy_samples, write_samples  # noqa: E402

from magistrate.engines.hf.loading import LoadedModel  # noqa: E402
from magistrate.errors import EngineError, InputError  # noqa: E402
from magistrate.records import Gold, Sample  # noqa: E402
from magistrate.train.adapting import adapt  # noqa: E402
from magistrate.train.estimate import estimate  # noqa: E402
from magistrate.train.generate import GenerateHead  # noqa: E402
from magistrate.train.loop import Watching, train  # noqa: E402
from magistrate.train.recipe import AdapterSection  # noqa: E402
from magistrate.train.steps import passes_of  # noqa: E402


@pytest.fixture(autouse=True)
def _one_thread() -> Any:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def loaded_head(folder: Path, **settings: Any) -> tuple[GenerateHead, LoadedModel]:
    head = GenerateHead(toy_recipe(folder, count=4, dev=0, **settings))
    return head, head.load(dtype="fp32", device="cpu")


def items_of(head: GenerateHead, samples: list[Sample]) -> list[Any]:
    return [head.encode(sample, 0, index) for index, sample in enumerate(samples)]


def gradients(
    head: GenerateHead, model: Any, items: list[Any], *, packed: bool, tokens: int
) -> Any:
    """Return the gradient of the mean loss over some items, however they are divided."""
    model.zero_grad()
    batches = [head.collate(g, packed=packed) for g in passes_of(items, tokens, packed=packed)]
    count = sum(float(batch["items"]) for batch in batches)
    total = 0.0
    for batch in batches:
        loss = head.losses(model, batch).loss / count
        loss.backward()
        total += float(loss.detach())
    return total, {name: p.grad.clone() for name, p in model.named_parameters()}


def test_packed_padded_and_divided_passes_have_one_gradient(tmp_path: Path) -> None:
    head, loaded = loaded_head(tmp_path, judge__mode="reason")
    samples = toy_samples(7, reasons=True)
    items = items_of(head, samples)
    model = loaded.model
    loss, wanted = gradients(head, model, items, packed=False, tokens=100_000)
    assert head.can_pack(model)
    for packed, tokens in ((True, 100_000), (True, 200), (True, 1)):
        found_loss, found = gradients(head, model, items, packed=packed, tokens=tokens)
        assert found_loss == pytest.approx(loss, rel=1e-5)
        for name, gradient in wanted.items():
            torch.testing.assert_close(found[name], gradient, rtol=1e-4, atol=1e-6)


def test_activations_computed_twice_give_the_same_gradient(tmp_path: Path) -> None:
    from magistrate.train.arguments import keep_fewer_activations

    head, loaded = loaded_head(tmp_path)
    items = items_of(head, toy_samples(4))
    assert head.can_pack(loaded.model)
    loaded.model.train()
    _, wanted = gradients(head, loaded.model, items, packed=True, tokens=512)
    keep_fewer_activations(loaded.model)
    loaded.model.train()
    _, found = gradients(head, loaded.model, items, packed=True, tokens=512)
    for name, gradient in wanted.items():
        torch.testing.assert_close(found[name], gradient, rtol=1e-4, atol=1e-7)


def test_a_segment_sees_nothing_of_its_neighbours(tmp_path: Path) -> None:
    head, loaded = loaded_head(tmp_path)
    assert head.can_pack(loaded.model)
    one, other, third = items_of(head, toy_samples(3))
    with torch.no_grad():
        alone = head.losses(loaded.model, head.collate([one], packed=True)).loss
        for neighbour in (other, third):
            both = head.losses(loaded.model, head.collate([neighbour, one], packed=True)).loss
            its = head.losses(loaded.model, head.collate([neighbour], packed=True)).loss
            assert float(both - its) == pytest.approx(float(alone), rel=1e-4)


def test_models_with_windows_and_sinks_pack_too() -> None:
    from magistrate.train.segments import NAME, one_text, try_segments

    for kind in ("qwen2", "mistral", "gemma2"):
        model = tiny_model(kind, vocab=128, sliding_window=16)
        assert try_segments(model, list(range(3, 40)))
        assert model.config._attn_implementation == NAME
        with one_text(model):
            assert model.config._attn_implementation != NAME
        assert model.config._attn_implementation == NAME


def test_parts_add_up_to_the_loss_and_weigh_what_the_recipe_says(tmp_path: Path) -> None:
    samples = toy_samples(5, reasons=True)
    settings = {"judge__mode": "reason", "loss__verdict": 3.0, "loss__reasons": 0.25}
    head, loaded = loaded_head(tmp_path, **settings)
    batch = head.collate(items_of(head, samples), packed=False)
    losses = head.losses(loaded.model, batch)
    parts = {name: (float(p.total), int(p.count)) for name, p in losses.parts.items()}
    assert parts["verdict"][1] == len(samples)
    assert parts["reasons"][1] > 5 * len(samples)
    assert parts["other"][1] >= len(samples)  # the end sign is learned
    weighted = 3 * parts["verdict"][0] + 0.25 * parts["reasons"][0] + parts["other"][0]
    assert float(losses.loss) == pytest.approx(weighted, rel=1e-5)
    counts = 3 * parts["verdict"][1] + 0.25 * parts["reasons"][1] + parts["other"][1]
    assert float(batch["items"]) == pytest.approx(counts)


def test_losses_are_those_of_transformers_itself(tmp_path: Path) -> None:
    head, loaded = loaded_head(tmp_path)
    (item,) = items_of(head, toy_samples(1))
    (row,) = item.rows
    wanted = loaded.model(input_ids=torch.tensor([row.ids]), labels=torch.tensor([row.labels])).loss
    batch = head.collate([item], packed=False)
    assert float(head.losses(loaded.model, batch).loss / batch["items"]) == pytest.approx(
        float(wanted), rel=1e-5
    )


def test_soft_labels_are_learned_as_probabilities(tmp_path: Path) -> None:
    head, loaded = loaded_head(tmp_path, data__soft=True)
    (sample,) = toy_samples(1)
    (gold,) = sample.gold
    label = gold.model_copy(update={"preference": None, "probability_second": 0.8})
    (item,) = items_of(head, [sample.model_copy(update={"gold": (label,)})])
    (row,) = item.rows
    assert row.soft is not None
    assert sorted(row.soft.probabilities) == pytest.approx([0.2, 0.8])
    batch = head.collate([item], packed=False)
    with torch.no_grad():
        verdict = float(head.losses(loaded.model, batch).parts["verdict"].total)
        logits = loaded.model(input_ids=torch.tensor([row.ids])).logits[0, row.soft.position - 1]
        logs = logits.float().log_softmax(-1)
    shares = zip(row.soft.tokens, row.soft.probabilities, strict=True)
    by_hand = -sum(share * float(logs[token]) for token, share in shares)
    assert verdict == pytest.approx(by_hand, rel=1e-5)


def test_only_what_the_recipe_names_is_trained() -> None:
    def trained(**settings: Any) -> set[str]:
        section = AdapterSection.model_validate(settings)
        adapted = adapt(tiny_model(vocab=64), section, task="CAUSAL_LM", whole=())
        return {name for name, p in adapted.model.named_parameters() if p.requires_grad}

    assert all("layers.1." in n or "norm" in n for n in trained(kind="full", trainable="top:1"))
    lora = trained(kind="lora")
    assert all("lora_" in name for name in lora)
    assert {name.split(".layers.")[1][0] for name in lora} == {"0", "1"}
    top = trained(kind="lora", trainable="top:1", targets=["q_proj"])
    assert len(top) == 2
    assert all("layers.1.self_attn.q_proj" in name for name in top)
    with pytest.raises(EngineError, match="top:3, but the base has 2 layers"):
        trained(kind="full", trainable="top:3")
    with pytest.raises(EngineError, match="names no layer of the base: nope; it has"):
        trained(kind="lora", targets=["nope"])


def test_four_bits_are_refused_where_there_is_no_gpu(tmp_path: Path) -> None:
    recipe = toy_recipe(tmp_path, count=4, dev=0, adapter__kind="qlora")
    with pytest.raises(EngineError, match=r"needs a CUDA GPU, and torch finds none"):
        train(recipe, tmp_path / "out")


def test_dev_samples_that_are_learned_from_are_refused(tmp_path: Path) -> None:
    recipe = toy_recipe(tmp_path, count=4, dev=0, data__dev=str(tmp_path / "train.jsonl"))
    with pytest.raises(InputError, match="4 of the 4 dev samples are also learned from"):
        train(recipe, tmp_path / "out")


def test_nothing_to_learn_is_an_error_also_of_a_dry_run(tmp_path: Path) -> None:
    recipe = toy_recipe(tmp_path, count=4, dev=0)
    ties = [one.model_copy(update={"gold": (Gold(preference="tie"),)}) for one in toy_samples(4)]
    write_samples(ties, tmp_path / "train.jsonl")
    said = r"none of the 4 training samples .*: 4 samples: the label is a tie, and family 'toy'"
    with pytest.raises(InputError, match=said):
        estimate(recipe)
    for _ in range(2):  # and nothing is left behind that a second try stumbles over
        with pytest.raises(InputError, match=said):
            train(recipe, tmp_path / "out")


def with_references(samples: list[Sample]) -> list[Sample]:
    """Return samples with scores; the first half have a reference, the first of them another label.

    Of the first sample the only label was made with the reference; of the second, without.
    """
    found = []
    for number, sample in enumerate(samples):
        (gold,) = sample.gold
        scores = (9.0, 2.0) if gold.preference == "first" else (2.0, 9.0)
        saw = {0: True, 1: False}.get(number)
        changes = {
            "gold": (gold.model_copy(update={"scores": scores, "with_reference": saw}),),
            "reference": "the truth" if 2 * number < len(samples) else None,
        }
        found.append(sample.model_copy(update=changes))
    return found


def test_a_judge_trained_with_references_and_without_can_be_asked_both_ways(tmp_path: Path) -> None:
    import magistrate as mg
    from magistrate.data.labelling import label

    recipe = toy_recipe(
        tmp_path,
        count=4,
        dev=0,
        judge__family="judgelm",
        optim__steps=1,
        optim__max_length=1024,
        run__pass_tokens=4096,
    )
    samples = with_references(toy_samples(8))
    unlabelled = [samples[2].model_copy(update={"gold": ()}), samples[3]]
    write_samples([*samples, unlabelled[0]], tmp_path / "train.jsonl")
    trained = train(recipe, tmp_path / "judge")
    assert 0 < trained.scan.with_reference < 4
    # Which of the two fits depends on which is shown with its reference.
    assert trained.scan.label_misfits == 1
    assert trained.data.left_out == 1
    made = tomllib.loads((tmp_path / "judge/judge.toml").read_text("utf-8"))
    assert made["families"] == {
        "judgelm": "family.toml",
        "judgelm-reference": "family-reference.toml",
    }
    assert made["made"]["data"]["label_misfits"] == 1
    judge = f"{tmp_path / 'judge'}"
    for name, shown in (("", False), ("#judgelm-reference", True)):
        with mg.load_judge(judge + name) as loaded:
            (prompt,) = loaded.family.prompts(samples[2], (0, 1))
            assert ("the truth" in "".join(message.text for message in prompt)) == shown
            assert loaded.mode == "score"
    report = label(unlabelled[:1], judge, tmp_path / "labelled.jsonl", reference="both")
    assert report is not None
    runs = [path for path in (tmp_path / "labelled.teachers").iterdir() if path.is_dir()]
    assert len(runs) == 2


@pytest.mark.slow
def test_a_toy_task_is_learned_and_the_folder_judges(tmp_path: Path) -> None:
    """'The longer answer wins', from a random model: loss falls, and the judge beats chance."""
    import magistrate as mg

    rows: list[Any] = []
    recipe = toy_recipe(
        tmp_path, count=256, dev=64, optim__epochs=6, optim__batch=16, optim__lr=1e-2
    )
    trained = train(recipe, tmp_path / "judge", watching=Watching(evaluated=rows.append))
    assert [row["step"] for row in rows] == [16, 32, 48, 64, 80, 96]
    assert rows[-1]["loss"] < rows[0]["loss"] < 6
    assert trained.measured["agreement"] >= 0.9
    assert trained.measured["consistency"] >= 0.8
    assert "- precision_checked: fp32" in (tmp_path / "judge/CARD.md").read_text("utf-8")
    with (tmp_path / "judge/training/log.csv").open(encoding="utf-8") as file:
        log = list(csv.DictReader(file))
    assert float(log[-1]["verdict"]) < 0.35 < float(log[0]["verdict"])
    assert not (tmp_path / "judge/training/checkpoints").exists()

    run = mg.judge(
        mg.read_samples(str(tmp_path / "dev.jsonl")),
        judge=str(tmp_path / "judge"),
        out=tmp_path / "run",
    )
    found = mg.evaluate(run)
    agreement = found.pairs.agreement.decisive.value
    assert agreement == pytest.approx(trained.measured["agreement"])
