"""What heads that classify or score read, unless the user has a template of their own."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from magistrate.errors import FamilyError
from magistrate.train.recipe import JudgeSection

if TYPE_CHECKING:
    from magistrate.prompts.classifier import ClassifierFamily
    from magistrate.prompts.scorer import ScorerFamily

NOT_NAMED = JudgeSection.model_fields["family"].default
"""The recipe's family when nobody named one."""

EMPTY = "(no response)"

_SECTIONS = (
    "### Question",
    "### Reference answer",
    "### Answer",
    "### Answer {n}",
    "### Better answer",
    "### Score",
)


def scorer_family(name: str, wish: str, tokenizer: Any) -> ScorerFamily:
    """Return how a scoring head is asked.

    Args:
        name: Of the judge.
        wish: The recipe's family: a TOML file with ``kind = "scorer"``, or the default.
        tokenizer: Of the base; its control tokens part the sections of an encoder's prompt.

    Raises:
        FamilyError: There is no such file, or it is wrong.
    """
    from magistrate.prompts.scorer import ScorerFamily

    section = _own(wish, "scorer") or _default("scorer", ("answer",), tokenizer)
    return ScorerFamily.from_sections(name, section, {})


def classifier_family(name: str, wish: str, tokenizer: Any) -> ClassifierFamily:
    """Return how a classifying head is asked; arguments as :func:`scorer_family`."""
    from magistrate.prompts.classifier import ClassifierFamily

    section = _own(wish, "classifier") or _default(
        "classifier", ("answer_1", "answer_2"), tokenizer
    )
    return ClassifierFamily.from_sections(name, section, {})


def _own(wish: str, kind: str) -> dict[str, Any] | None:
    if wish == NOT_NAMED:
        return None
    path = Path(wish).expanduser()
    try:
        section = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise FamilyError(
            f"judge.family is '{wish}'; a head that does not write reads its own template: leave "
            f'judge.family out, or give a TOML file with kind = "{kind}" and a template '
            f"({error.strerror}; see docs/judge-folder.md)"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FamilyError(f"{path}: not valid TOML ({error})") from error
    return section


def _default(kind: str, answers: tuple[str, ...], tokenizer: Any) -> dict[str, Any]:
    first, between = tokenizer.cls_token, tokenizer.sep_token
    if first and between and tokenizer.bos_token in (None, first):
        shown = "".join(f"{{{{ {name} }}}}{between}" for name in answers)
        template = (
            f"{first}{{{{ question }}}}{between}"
            f"{{% if reference %}}{{{{ reference }}}}{between}{{% endif %}}{shown}"
        )
        return {"kind": kind, "template": template, "empty_answer": EMPTY}
    return {
        "kind": kind,
        "template": _sections(answers, tokenizer.bos_token if _begins(tokenizer) else ""),
        "empty_answer": EMPTY,
        "markers": list(_SECTIONS),
    }


def _sections(answers: tuple[str, ...], start: str) -> str:
    lines = [f"{start}### Question", "{{ question }}", "{% if reference %}"]
    lines += ["### Reference answer", "{{ reference }}", "{% endif %}"]
    for place, name in enumerate(answers, 1):
        heading = "### Answer" if len(answers) == 1 else f"### Answer {place}"
        lines += [heading, f"{{{{ {name} }}}}"]
    lines.append("### Score:" if len(answers) == 1 else "### Better answer:")
    return "\n".join(lines)


def _begins(tokenizer: Any) -> bool:
    """Whether the tokenizer puts its start sign before any text."""
    ids = tokenizer("a")["input_ids"]
    return bool(ids) and ids[0] == tokenizer.bos_token_id
