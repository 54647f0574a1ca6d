"""A wording of no known peer: its places are known by their names, its replies by a family."""

from __future__ import annotations

from collections.abc import Sequence

from magistrate.errors import FamilyError
from magistrate.prompts.importing.recipe import (
    ANSWER,
    FIRST,
    PASSAGES,
    QUESTION,
    REFERENCE,
    RUBRIC,
    SECOND,
    Fill,
    MessagePlan,
    Recipe,
    Ref,
)
from magistrate.prompts.importing.texts import Text, notation_of, prompts_among
from magistrate.prompts.schema import FamilyFile

_NAMES: tuple[tuple[Fill, str], ...] = (
    (QUESTION, "question instruction prompt query input user_question problem task"),
    (REFERENCE, "reference reference_answer ref_answer ref_answer_1 gold ground_truth"),
    (RUBRIC, "rubric criteria criterion rubrics"),
    (PASSAGES, "context passages documents relevant_context"),
)
_PAIR: tuple[tuple[Fill, str], ...] = (
    (FIRST, "answer_1 answer1 answer_a answer_A response_1 response1 response_a response_A"),
    (FIRST, "output_1 output1 output_a assistant_a resp1 answer response first"),
    (SECOND, "answer_2 answer2 answer_b answer_B response_2 response2 response_b response_B"),
    (SECOND, "output_2 output2 output_b assistant_b resp2 response_another second"),
)
_ALONE: tuple[tuple[Fill, str], ...] = (
    (ANSWER, "answer response output completion prediction candidate generation"),
)


def recipe_for(name: str, texts: Sequence[Text], prompt: str | None, like: FamilyFile) -> Recipe:
    """Return a recipe for one text with places.

    Args:
        name: Name of the family.
        texts: What the file holds.
        prompt: Which of them; needed where several have places.
        like: The family whose verdict, sampling and number of answers are taken over.

    Raises:
        FamilyError: No text or several are there to choose from; the message lists them.
    """
    text = _chosen(texts, prompt)
    known = _NAMES + (_ALONE if like.reads_alone else _PAIR)
    fill = {alias: shown for shown, aliases in known for alias in aliases.split()}
    dumped = like.model_dump(mode="json", exclude_none=True)
    return Recipe(
        family=name,
        description=f"An imported wording, read as '{like.name}' is.",
        peer=name,
        url="",
        files=(str(text.file),),
        prompt=text.name,
        messages=(MessagePlan("user", (Ref(text.name, notation_of(text) or "literal"),)),),
        fill=fill,
        verdict=dumped["verdict"],
        sampling=dumped["sampling"],
        score_mode=dumped.get("score_mode"),
        prefill=dumped.get("prefill"),
        min_answers=like.min_answers,
        max_answers=like.max_answers,
        reads_alone=like.reads_alone,
    )


def _chosen(texts: Sequence[Text], prompt: str | None) -> Text:
    prompts = prompts_among(tuple(texts))
    if prompt is not None:
        prompts = tuple(t for t in texts if t.name == prompt or t.name.endswith(f".{prompt}"))
    if len(prompts) == 1:
        return prompts[0]
    listed = ", ".join(f"'{text.name}'" for text in (prompts or prompts_among(tuple(texts))))
    if not listed:
        raise FamilyError(f"{texts[0].file if texts else 'the file'}: no text with places is there")
    which = "several texts have places" if prompt is None else f"'{prompt}' is not one text there"
    raise FamilyError(f"{texts[0].file}: {which}; choose one with --prompt: {listed}")
