"""Every family asks about real records, and shows all of them."""

from __future__ import annotations

from functools import cache
from itertools import islice
from pathlib import Path

import pytest

from magistrate.formats.reading import read_samples
from magistrate.messages import Message
from magistrate.prompts.catalog import bundled_names, load_family
from magistrate.prompts.demonstrations import draw_demonstrations
from magistrate.prompts.untrusted import readable
from magistrate.records import Sample

pytestmark = pytest.mark.data

ALPACA = "alpaca_eval/results"
MT_BENCH = "fastchat/llm_judge/mt_bench"
FILES = {
    "ab-token": "llmbar/LLMBar/Natural/dataset.json",
    "alpaca-eval-ranking": f"{ALPACA}/alpaca-7b/alpaca_eval_gpt4/annotations.json",
    "auto-j-pair": "auto-j/test/testdata_pairwise.jsonl",
    "auto-j-single": "auto-j/test/testdata_critique.jsonl",
    "mt-bench-pair": "llmbar/LLMBar/Natural/dataset.json",
    "mt-bench-single-two-turns": "routellm/evals/mt_bench/judgements.jsonl",
    "mt-bench-single-reference": "routellm/evals/mt_bench/judgements.jsonl",
    "mt-bench-single": "routellm/evals/mt_bench/judgements.jsonl",
    "n-way": "pandalm/testset-v1.json",
    "prometheus-absolute": "prometheus/vicuna_eval.json",
    "prometheus-absolute-reference": "prometheus/vicuna_eval.json",
    "prometheus-relative": "prometheus/hhh_alignment_eval.json",
}
PAIRS = "pandalm/testset-v1.json"
SINGLES = "prometheus/vicuna_eval.json"
WITH_REFERENCE = "critiquellm/evaluation/pairwise/alignbench_reference_based_sample.jsonl"


@cache
def samples(data: Path, file: str) -> tuple[Sample, ...]:
    return tuple(islice(read_samples(data / file), 40))


def file_for(name: str) -> str:
    if name in FILES:
        return FILES[name]
    family = load_family(name)
    if family.reads_alone:
        return SINGLES
    return WITH_REFERENCE if "reference" in name else PAIRS


def shape(messages: tuple[Message, ...]) -> list[str]:
    return [part.slot or part.text for message in messages for part in message.parts]


@pytest.mark.parametrize("name", bundled_names())
def test_real_records_are_shown_whole(name: str, data_folder: Path) -> None:
    family = load_family(name)
    asked = 0
    for sample in samples(data_folder, file_for(name)):
        if family.shows_images:  # no set at hand has any
            sample = sample.model_copy(update={"images": ("https://example.org/map.png",)})
        if "reference" in name and sample.reference is None:
            continue
        count = len(sample.answers)
        order = tuple(reversed(range(count)))
        prompts = family.prompts(sample, order)
        assert len(prompts) == (count if family.reads_alone else 1)
        for place, messages in enumerate(prompts):
            slots: dict[str, str] = {}
            for message in messages:
                for part in message.parts:
                    if part.slot:
                        slots[part.slot] = slots.get(part.slot, "") + part.text.replace("\\", "")
            shown = (order[place],) if family.reads_alone else order
            for number, own in enumerate(shown, 1):
                slot = "answer" if family.reads_alone else f"answer_{number}"
                text = readable(sample.answers[own].text).replace("\\", "")
                assert text in slots[slot] or not text.strip()
            last = sample.question if isinstance(sample.question, str) else sample.question[-1].text
            assert readable(last).replace("\\", "") in slots["question"]
            if "reference" in name:
                assert sample.reference is not None
                assert readable(sample.reference).replace("\\", "") in slots["reference"]
            if name.startswith("prometheus"):
                assert slots["rubric"]
        asked += 1
    assert asked >= 10


def test_dialogues_of_real_answers_have_a_section_a_turn(data_folder: Path) -> None:
    """MT-bench's own answers: two turns each, the question of the second between them."""
    questions = data_folder / MT_BENCH / "question.jsonl"
    read = read_samples(
        data_folder / MT_BENCH / "reference_answer/gpt-4.jsonl", questions=questions
    )
    family = load_family("mt-bench-single-two-turns")
    count = 0
    for sample in read:
        (messages,) = family.prompts(sample, (0,))
        text = messages[-1].text
        assert text.count("### User:\n") == text.count("### Assistant A:\n") == 2
        turns = sample.answers[0].turns
        assert [turn.role for turn in turns] == ["assistant", "user", "assistant"]
        positions = [text.index(readable(turn.text)) for turn in turns]
        assert positions == sorted(positions)
        count += 1
    assert count == 30


@pytest.mark.parametrize("name", ["pandalm", "judgelm", "pair", "mt-bench-pair"])
def test_demonstrations_drawn_from_a_real_set(name: str, data_folder: Path) -> None:
    """Two of each outcome of PandaLM's test set, never one of the ten that are judged."""
    everything = tuple(read_samples(data_folder / PAIRS))
    judged = everything[:10]
    drawn = draw_demonstrations(everything, per_outcome=2, seed=3, judged=judged)
    assert len(drawn) == 6
    assert not {sample.text_id for sample in judged} & {sample.text_id for sample in drawn}
    family = load_family(name, demonstrations=drawn)
    bare = load_family(name)
    for sample in judged:
        prompt = family.prompts(sample, (0, 1))[0]
        text = "".join(message.text for message in prompt)
        plain = bare.prompts(sample, (0, 1))[0][-1].text
        assert text.endswith(plain)
        for number in range(1, 7):
            assert f"demo_{number}_question" in shape(prompt)
