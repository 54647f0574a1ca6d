"""Formats that are a sequence of JSON objects: JudgeLM, AlpacaEval, Hugging Face preference."""

from __future__ import annotations

from typing import Any

from magistrate.formats.base import RowError
from magistrate.formats.writers.base import RowFormat
from magistrate.formats.writers.golds import (
    decisive,
    ident,
    need_answers,
    scored,
    the_preference,
    the_scores,
)
from magistrate.records import Answer, Gold, Sample, Turn


def _plain_question(sample: Sample) -> str:
    return sample.question_text


# --- JudgeLM -----------------------------------------------------------------------------------


def judgelm_sample(sample: Sample, place: int) -> dict[str, Any]:
    """Return a JudgeLM judge sample; ``score`` there is for log-probabilities of the answers.

    JudgeLM has no place for a label. It stands in ``gold``, a field of ours: JudgeLM's scripts go
    by the names of fields and write the ones they do not know into their output.
    """
    row: dict[str, Any] = {
        "question_id": ident(sample),
        "score": [],
        "question_body": _plain_question(sample),
    }
    for number, answer in enumerate(sample.answers, start=1):
        row[f"answer{number}_body"] = answer.text
        row[f"answer{number}_model_id"] = answer.model or ""
        row[f"answer{number}_metadata"] = sample.meta.get(f"answer{number}_metadata", {})
    if sample.reference is not None:
        row["reference"] = {"text": sample.reference}
    if sample.category is not None:
        row["category"] = sample.category
    if sample.gold:
        row["gold"] = [gold.model_dump(exclude_none=True) for gold in sample.gold]
    return row


def judgelm_truth(sample: Sample, place: int) -> dict[str, Any]:
    """Return JudgeLM's ground-truth block: a text that begins with the two scores, and the scores.

    Raises:
        RowError: The sample is no pair or has no gold scores.
    """
    need_answers(sample, 2)
    gold = scored(sample)
    if gold is None or gold.scores is None:
        raise RowError(
            "it has no gold scores, and this format holds a score per answer ('judgelm' keeps "
            "other labels)"
        )
    return {
        "review_id": sample.meta.get("review_id", sample.id),
        "question_id": ident(sample),
        "answer1_id": "",
        "answer2_id": "",
        "reviewer_id": 1,
        "metadata": {},
        "text": _judgelm_text(gold),
        "score": list(gold.scores),
    }


def _judgelm_text(gold: Gold) -> str:
    scores = " ".join(f"{score:g}" for score in gold.scores or ())
    return f"{scores}\n{gold.reasons}" if gold.reasons else scores


def judgelm_training(sample: Sample, place: int) -> dict[str, Any]:
    """Return a JudgeLM training record: ground truth and judge sample in one.

    Scores and reasons given without the reference (or with nobody knows what) are ``score`` and
    ``text``; those given with it ``score_w_reference`` and ``text_w_reference``. A sample that was
    labelled with the reference alone has them in both: JudgeLM reads no record without ``text``.

    Raises:
        RowError: The sample is no pair or has no gold scores.
    """
    with_reference = scored(sample, with_reference=True)
    plain = scored(sample, with_reference=False) or with_reference
    told = sample.model_copy(update={"gold": (plain,) if plain else ()})
    row = {**judgelm_sample(sample, place), **judgelm_truth(told, place)}
    row["review_id"] = sample.meta.get("review_id", sample.id)
    row.pop("gold", None)  # the scores say it, and only one of two may be edited later
    if plain is not None and plain.annotator is not None:
        row["metadata"] = {"annotator": plain.annotator}
    if with_reference is not None and with_reference.scores is not None:
        row["text_w_reference"] = _judgelm_text(with_reference)
        row["score_w_reference"] = list(with_reference.scores)
        if with_reference.annotator is not None:
            row["metadata"]["annotator_w_reference"] = with_reference.annotator
    return row


# --- AlpacaEval --------------------------------------------------------------------------------


def alpaca_outputs(sample: Sample, place: int) -> dict[str, Any]:
    """Return one of a model's outputs.

    Raises:
        RowError: The sample has more than one answer.
    """
    need_answers(sample, 1)
    row = _alpaca_head(sample)
    return {**row, "output": sample.answers[0].text, "generator": sample.answers[0].model or ""}


def alpaca_annotations(sample: Sample, place: int) -> dict[str, Any]:
    """Return an annotated pair; the preference is 1, 2, 1.5 for a tie, or 1 + P(second better).

    Raises:
        RowError: The sample is no pair.
    """
    need_answers(sample, 2)
    first, second = sample.answers
    gold = sample.gold[0] if len(sample.gold) == 1 else None
    return {
        **_alpaca_head(sample),
        "output_1": first.text,
        "generator_1": first.model or "",
        "output_2": second.text,
        "generator_2": second.model or "",
        "annotator": (gold.annotator if gold else None) or "gold",
        "preference": _alpaca_code(sample, gold),
    }


def _alpaca_head(sample: Sample) -> dict[str, Any]:
    row: dict[str, Any] = {
        "instruction": _plain_question(sample),
        "dataset": sample.category or sample.meta.get("dataset") or "",
    }
    if sample.source_id is not None:
        row["id"] = sample.source_id
    return row


def _alpaca_code(sample: Sample, gold: Gold | None) -> float | None:
    if gold is not None and gold.probability_second is not None:
        return 1 + gold.probability_second
    preference = the_preference(sample)
    if preference is None:
        return None
    return {"first": 1.0, "second": 2.0, "tie": 1.5}[preference]


# --- Hugging Face preference -------------------------------------------------------------------


def preference(sample: Sample, place: int) -> dict[str, Any]:
    """Return ``prompt``, ``chosen``, ``rejected``: text, or messages where there are turns.

    Raises:
        RowError: The sample is no pair with a better answer.
    """
    better = decisive(sample)
    chosen, rejected = sample.answers if better == "first" else sample.answers[::-1]
    is_dialogue = not isinstance(sample.question, str) or any(a.turns for a in sample.answers)
    row: dict[str, Any] = {
        "id": ident(sample),
        "prompt": _messages(_turns(sample)) if is_dialogue else sample.question,
        "chosen": _messages(_answer_turns(chosen)) if is_dialogue else chosen.text,
        "rejected": _messages(_answer_turns(rejected)) if is_dialogue else rejected.text,
    }
    if chosen.model is not None or rejected.model is not None:
        row["chosen_model"] = chosen.model
        row["rejected_model"] = rejected.model
    scores = the_scores(sample)
    if scores is not None:
        row["chosen_score"], row["rejected_score"] = scores if better == "first" else scores[::-1]
    if sample.category is not None:
        row["subset"] = sample.category
    return row


def _turns(sample: Sample) -> tuple[Turn, ...]:
    question = sample.question
    return (Turn(role="user", text=question),) if isinstance(question, str) else question


def _answer_turns(answer: Answer) -> tuple[Turn, ...]:
    return answer.turns or (Turn(role="assistant", text=answer.text),)


def _messages(turns: tuple[Turn, ...]) -> list[dict[str, str]]:
    return [{"role": turn.role, "content": turn.text} for turn in turns]


ROW_FORMATS = (
    RowFormat(
        "judgelm",
        "JudgeLM judge samples (JSON Lines)",
        judgelm_sample,
        holds=frozenset({"id", "reference", "category", "preference", "scores", "ranking"})
        | {"named labels", "soft labels", "reasons", "annotators", "several annotators"},
    ),
    RowFormat(
        "judgelm-ground-truth",
        "JudgeLM ground truth: scores and reasons of pairs, without their texts (JSON Lines)",
        judgelm_truth,
        holds=frozenset({"id", "preference", "scores", "reasons"}),
    ),
    RowFormat(
        "judgelm-training",
        "JudgeLM training records: pairs with scores and reasons (JSON Lines)",
        judgelm_training,
        holds=frozenset({"id", "reference", "category", "preference", "scores", "reasons"}),
    ),
    RowFormat(
        "alpaca-eval-outputs",
        "AlpacaEval outputs of one model (JSON array)",
        alpaca_outputs,
        array=True,
        holds=frozenset({"id", "category"}),
    ),
    RowFormat(
        "alpaca-eval-annotations",
        "AlpacaEval annotations of pairs (JSON array)",
        alpaca_annotations,
        array=True,
        holds=frozenset({"id", "category", "preference", "soft labels", "annotators"}),
    ),
    RowFormat(
        "preference",
        "Hugging Face preference pairs: prompt, chosen, rejected (JSON Lines)",
        preference,
        holds=frozenset(
            {"id", "category", "preference", "scores", "dialogues", "answers over several turns"}
        ),
    ),
)
