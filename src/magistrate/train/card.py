"""The card of a judge that was trained: what it is, how good it is, how it was made."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from magistrate.report.judge_card import SECTION, table_of_training
from magistrate.train.head import Finished

CARD_FILE = "CARD.md"

_DOES = {
    "generate": "It writes its verdict, in score mode as an exact distribution.",
    "classify": "It reads both answers at once and says first, second or tie.",
    "regress": "It reads each answer alone and gives it a score; scores are compared.",
}


_NOTHING = "Nothing was measured: there were no dev samples."


def card_of(finished: Finished, fitted_on: int, licences: Mapping[str, str]) -> str:
    """Return the card as Markdown.

    Args:
        finished: The training.
        fitted_on: Dev samples that temperature and tie band were fitted on; 0 for none.
        licences: By what they are of: ``base``, ``data``, ``judge``.
    """
    recipe = finished.recipe
    judge, adapter = recipe.judge, recipe.adapter
    base = Path(judge.base).name if Path(judge.base).exists() else judge.base
    how = "all weights" if not finished.adapter else f"a LoRA adapter (rank {adapter.r})"
    lines = [
        f"# {judge.name}",
        "",
        f"A judge made by `magistrate train`: head *{judge.head}*, {how}, over {base}.",
        _DOES[judge.head],
        "",
        SECTION,
        "",
        "### Dev samples of the training",
        "",
        *(table_of_training(finished.measured) or [_NOTHING]),
        "",
        *_honest(finished, fitted_on),
        "## Data",
        "",
        *_items(finished.data),
        "",
        "## How it was made",
        "",
        *_items(
            {
                "head": judge.head,
                "loss": recipe.loss.regress if judge.head == "regress" else "cross-entropy",
                "swap": recipe.augment.swap,
                "drop_reference": recipe.augment.drop_reference,
                "learning rate": recipe.optim.lr,
                "longest input, tokens": recipe.optim.max_length,
                **finished.made,
            }
        ),
        "",
        "The whole recipe is in `judge.toml` (`[made]`); the curve, where it was kept, in",
        "`training/log.csv` and `training/evaluation.csv`.",
        "",
        "## Licences",
        "",
        *(_items(licences) if licences else ["Not stated. Those of base and data apply."]),
    ]
    return "\n".join(lines) + "\n"


def _honest(finished: Finished, fitted_on: int) -> list[str]:
    lines = []
    if finished.measured:
        lines.append(
            "These samples also chose the weights"
            + (" and fitted temperature and tie band" if fitted_on else "")
            + ", so the figures flatter a little; measure on others with "
            "`magistrate judges card FOLDER --measure FILE`."
        )
        lines.append("")
    return lines


def _items(values: Mapping[str, Any]) -> list[str]:
    return [f"- {name}: {_said(value)}" for name, value in values.items() if value is not None]


def _said(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_said(each)}" for name, each in value.items())
    if isinstance(value, float):
        return f"{value:g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
