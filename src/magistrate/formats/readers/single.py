"""Sets of one answer a row: self-instruct's T0 instances and seed tasks.

Also files of instructions alone (PandaLM's inference sets), which have nothing to judge yet.
"""

from __future__ import annotations

from collections.abc import Mapping

from magistrate.formats.base import Item, RowError
from magistrate.formats.readers.fields import Fields, RowReader
from magistrate.formats.readers.values import show, with_input
from magistrate.records import Answer, Gold, Sample

_END_OF_TEXT = "<|endoftext|>"
_CORRECT = Gold(label="correct")
"""The answer is the gold completion of its data set."""
_INSTRUCTION_FIELDS = {"instruction", "input", "motivation_app", "id", "idx", "task_id", "category"}


def _t0(f: Fields) -> Item:
    completion = f.text("completion").removesuffix(_END_OF_TEXT).strip()
    return f.item(
        Sample(
            question=f.text("prompt"),
            answers=(Answer(text=completion),),
            gold=(_CORRECT,),
            category=f.optional_text("template"),
            meta=f.meta("template"),
        )
    )


def _seed_task(f: Fields) -> Item:
    instances = f.get("instances")
    if not isinstance(instances, list) or not instances or not isinstance(instances[0], Mapping):
        raise RowError(f"'instances' is {show(instances)}; a list of input and output is needed")
    if len(instances) > 1:
        f.notice("more-instances", "has more than one instance; only the first is read")
    first = Fields(instances[0], f.where, f.options, f.reader)
    return f.item(
        Sample(
            question=with_input(f.text("instruction"), first.optional_text("input")),
            answers=(Answer(text=first.text("output")),),
            gold=(_CORRECT,),
            source_id=f.id("id"),
            meta=f.meta("name", "is_classification"),
        )
    )


def _instruction(f: Fields) -> Item:
    f.text("instruction")
    return f.item()


READERS = (
    RowReader(
        name="t0-instances",
        summary="Self-instruct T0 instances: prompt, completion (a right answer), template",
        parse=_t0,
        keys=("prompt", "completion", "template"),
    ),
    RowReader(
        name="seed-tasks",
        summary="Self-instruct seed tasks: instruction, instances with input and output",
        parse=_seed_task,
        keys=("instruction", "instances"),
    ),
    RowReader(
        name="instructions",
        summary="Instructions without answers, as PandaLM's inference sets: instruction, input",
        parse=_instruction,
        keys=("instruction", "input"),
        when=lambda row, _file: row.keys() <= _INSTRUCTION_FIELDS,
    ),
)
