"""AlpacaEval: its folders of configuration, each with a prompt and a rule for replies."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from magistrate.errors import FamilyError
from magistrate.prompts.importing.recipe import (
    CHOSEN,
    FIRST,
    QUESTION,
    SECOND,
    MessagePlan,
    Recipe,
    Ref,
    choice,
    scores,
)
from magistrate.prompts.importing.texts import read_file, read_yaml

FAMILY = "alpaca-eval"
_CONFIG = "configs.yaml"
_FOLDERS = ("", "evaluators_configs", "alpaca_eval/evaluators_configs")
_DEEPER = "src/alpaca_eval/evaluators_configs"
_MOST_CONFIGS = 500
_PATTERN_START = re.compile(r"^(?:\(\?i\))?(?:\(\?:\^\|\\n\)|\\n|\^)?\s*\??\s*")


def configurations(path: Path) -> Mapping[str, Path]:
    """Return the configuration files at a path by the name of their folder.

    Args:
        path: A ``configs.yaml``, its folder, the folder of all, or the peer's repository.
    """
    if path.is_file():
        return {path.parent.name: path}
    for inside in (*_FOLDERS, _DEEPER):
        folder = path / inside
        if (folder / _CONFIG).is_file():
            return {folder.resolve().name: folder / _CONFIG}
        found = sorted(folder.glob(f"*/{_CONFIG}"))[:_MOST_CONFIGS]
        if found:
            return {config.parent.name: config for config in found}
    return {}


def recipe_of(config: Path) -> Recipe:
    """Return the recipe that a configuration file describes.

    Raises:
        FamilyError: It asks in a way that cannot be taken over; the message says which.
    """
    name, section = _section(config)
    try:
        verdict = _verdict(section)
    except FamilyError as error:
        raise FamilyError(f"{config}: {error}") from error
    told = section.get("completions_kwargs")
    settings: Mapping[str, Any] = told if isinstance(told, Mapping) else {}
    if section.get("batch_size", 1) != 1:
        raise FamilyError(f"{config}: it shows several samples in one prompt")
    most = settings.get("max_tokens") or settings.get("max_tokens_to_sample") or 512
    greedy = section.get("fn_completion_parser") == "logprob_parser"
    return Recipe(
        family=FAMILY,
        description=f"AlpacaEval's {name}: which of two outputs is better.",
        peer="AlpacaEval",
        judge="openai:MODEL",
        url="https://github.com/tatsu-lab/alpaca_eval",
        files=(_template(config, section),),
        prompt=Path(str(section["prompt_template"])).stem,
        messages=(MessagePlan("user", (Ref(CHOSEN, "braces"),)),),
        fill={"instruction": QUESTION, "output_1": FIRST, "output_2": SECOND},
        verdict=verdict,
        sampling={
            # A verdict of one token may be written with a space or line end before it.
            "max_tokens": max(int(most), 8),
            "temperature": 0.0 if greedy else float(settings.get("temperature", 0.0)),
        },
        chatml=True,
        notes=_notes(section),
    )


def _section(config: Path) -> tuple[str, Mapping[str, Any]]:
    try:
        document = read_yaml(read_file(config))
    except FamilyError as error:
        raise FamilyError(f"{config}: {error}") from error
    if not isinstance(document, Mapping) or len(document) != 1:
        raise FamilyError(f"{config}: not a configuration: one name with its settings is needed")
    ((name, section),) = document.items()
    if not isinstance(section, Mapping) or not isinstance(section.get("prompt_template"), str):
        raise FamilyError(f"{config}: '{name}' names no 'prompt_template'")
    return str(name), section


def _template(config: Path, section: Mapping[str, Any]) -> str:
    """Return the path of the prompt: it is written from the folder of all configurations."""
    written = Path(str(section["prompt_template"]))
    for candidate in (config.parent.parent / written, config.parent / written.name):
        if candidate.is_file():
            return str(candidate.resolve())
    raise FamilyError(f"{config}: its prompt '{written}' is not there")


def _verdict(section: Mapping[str, Any]) -> dict[str, Any]:
    told = section.get("completion_parser_kwargs")
    rules: Mapping[str, Any] = told if isinstance(told, Mapping) else {}
    parser = section.get("fn_completion_parser")
    settings = section.get("completions_kwargs")
    if isinstance(settings, Mapping) and any(
        key in settings for key in ("tools", "tool_choice", "functions", "function_call")
    ):
        raise FamilyError("it asks for a function call, and not for text")
    if parser == "ranking_parser":
        if "model_1_name" in rules:
            raise FamilyError(f"it ranks models under names of its own ({rules['model_1_name']})")
        return {"kind": "ranking", "place": "last", "names": "model_{n}"}
    if parser == "logprob_parser":
        return _by_tokens(rules)
    if parser in (None, "regex_parser"):  # the peer's own default
        return _by_patterns(rules)
    if parser == "lmsys_parser":
        return scores("first", 1, 10)
    raise FamilyError(f"replies are read by '{parser}', which is not known here")


def _by_tokens(rules: Mapping[str, Any]) -> dict[str, Any]:
    first, both = rules.get("numerator_token"), rules.get("denominator_tokens")
    if not isinstance(first, str) or not isinstance(both, Sequence):
        raise FamilyError("it names no 'numerator_token' and 'denominator_tokens'")
    others = tuple(str(token) for token in both if token != first)
    if not others:
        raise FamilyError("its 'denominator_tokens' name one token alone")
    return choice("last" if rules.get("log_prob_index") == -1 else "first", (first,), others)


def _by_patterns(rules: Mapping[str, Any]) -> dict[str, Any]:
    """Return labels from the patterns that the peer searches in replies, if they are plain."""
    patterns = rules.get("outputs_to_match")
    if not isinstance(patterns, Mapping):
        raise FamilyError("it names no 'outputs_to_match'")
    labels = {str(key): _plain(str(pattern)) for key, pattern in patterns.items()}
    if set(labels) != {"1", "2"}:
        raise FamilyError(f"its 'outputs_to_match' are {', '.join(labels)}, not 1 and 2")
    return choice("last", (labels["1"],), (labels["2"],))


def _plain(pattern: str) -> str:
    text = re.sub(r"\\([()\[\].])", r"\1", _PATTERN_START.sub("", pattern)).strip()
    if re.search(r"[\\?*+|^$]", text) or not any(sign.isalnum() for sign in text):
        raise FamilyError(f"it reads replies by the pattern '{pattern}', which is no plain label")
    return text


def _notes(section: Mapping[str, Any]) -> tuple[str, ...]:
    if section.get("processors_to_kwargs"):
        return ("AlpacaEval's own processors of replies are not taken over",)
    return ()
