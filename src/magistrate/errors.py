"""Every error that magistrate raises on purpose.

::

    MagistrateError                 something a user can mend; printed without a traceback
    ├── InputError                  a file or row that cannot be read as asked
    │   └── FormatError             the format could not be recognised, or was the wrong one
    ├── JudgeNotFoundError          a judge name that means nothing here
    ├── FamilyError                 a prompt template or verdict format that is not usable
    │   └── MissingVariablesError   a template asks for fields that the sample lacks
    ├── EngineError                 a model could not be loaded or run
    │   └── MissingExtraError       packages of an extra are not installed; names the pip command
    ├── CostLimitError              the next request could pass the limit of what a run may cost
    └── RunError                    a run folder that cannot be used
        ├── RunLockedError          another process is writing to it
        ├── RunMismatchError        it holds another input or another judge
        └── RunDamagedError         its files contradict each other

Messages say what was found, what was needed and how to mend it. Command-line exit codes are the
``exit_code`` of the class: 2 for input, 3 for judges and engines, 4 for run folders, 6 for a limit
of costs.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from typing import Any


class MagistrateError(Exception):
    """Base of all errors that a user can mend."""

    exit_code = 1


class InputError(MagistrateError):
    """A file or row cannot be read as asked."""

    exit_code = 2


class FormatError(InputError):
    """No known format fits the file, or the forced one does not."""


class JudgeNotFoundError(MagistrateError):
    """A judge name that is neither bundled, nor a folder, nor ``ENGINE:MODEL``."""

    exit_code = 3


class FamilyError(MagistrateError):
    """A judge family (template and parser) is missing or broken."""

    exit_code = 3


class MissingVariablesError(FamilyError):
    """A template needs fields that the sample does not have; all of them are named at once."""

    def __init__(self, family: str, missing: Sequence[str], sample: str) -> None:
        """Name every missing field of one sample in one message."""
        self.family = family
        self.missing = tuple(missing)
        super().__init__(
            f"family '{family}' needs {', '.join(missing)}, which sample {sample} does not have; "
            f"add the field{'s' if len(missing) > 1 else ''} to the input "
            f"(or map columns with --columns), or choose a family that does without"
        )


class EngineError(MagistrateError):
    """A model could not be loaded or run."""

    exit_code = 3


class MissingExtraError(EngineError):
    """What was asked for needs packages that come with an extra of magistrate."""

    def __init__(self, what: str, extra: str, missing: str) -> None:
        """Name what needs it, the extra, and the package that was looked for in vain.

        Args:
            what: Such as ``engine 'hf'``.
            extra: Name of the extra in magistrate's own metadata.
            missing: The package that could not be imported.
        """
        super().__init__(
            f"{what} needs the package '{missing}', which is not installed; "
            f"run: pip install 'magistrate[{extra}]'"
        )


class CostLimitError(MagistrateError):
    """The next request could pass the limit of what a run may cost; what was judged is kept."""

    exit_code = 6


class RunError(MagistrateError):
    """A run folder cannot be used."""

    exit_code = 4


class RunLockedError(RunError):
    """Another process is writing to the run folder."""


class RunMismatchError(RunError):
    """The run folder holds judgments of another input, judge or setting."""


class RunDamagedError(RunError):
    """The files of a run folder contradict each other."""


_NEAR = 5
"""How many names are shown in place of one that is not known."""


def nearest_of(name: str, known: Collection[str], lister: str) -> str:
    """Return in words the known names that are most like one that is not known.

    Args:
        name: What was given.
        known: What there is.
        lister: What lists all of it, for people; named where not all are shown.

    >>> nearest_of("piar", ["pair", "single"], "magistrate families")
    "did you mean 'pair'? There are: pair, single"
    """
    ranked = difflib.get_close_matches(name, known, n=_NEAR, cutoff=0.0)
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean '{close[0]}'? " if close else ""
    if len(known) <= _NEAR:
        return (
            f"{hint}There are: {', '.join(ranked)}" if hint else f"there are: {', '.join(ranked)}"
        )
    shown = f"{', '.join(ranked)} and {len(known) - len(ranked)} more ({lister} lists all)"
    return f"{hint}Nearest of all: {shown}" if hint else f"nearest: {shown}"


_NEEDED: dict[str, str] = {
    "missing": "is missing",
    "extra_forbidden": "is not known",
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "json_invalid": "is not JSON",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be {ge} or more",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be {le} or less",
    "too_short": "must have {min_length} or more entries",
    "too_long": "must have {max_length} entries or fewer",
    "string_too_short": "must have {min_length} or more characters",
    "string_pattern_mismatch": "must have the form {pattern}",
    "datetime_parsing": "must be a time such as 2026-01-31T12:00:00Z",
    "datetime_type": "must be a time such as 2026-01-31T12:00:00Z",
}
"""What was needed, by the kind of a problem that pydantic found."""


def what_is_needed(problem: Mapping[str, Any]) -> str:
    """Return one problem of a pydantic ``ValidationError`` in our words, to stand behind a name.

    >>> what_is_needed({"type": "greater_than", "ctx": {"gt": 0}, "msg": "Input should be ..."})
    'must be above 0'
    >>> what_is_needed({"type": "value_error", "msg": "Value error, give either one"})
    'give either one'
    """
    words = _NEEDED.get(problem["type"])
    if words is not None:
        context = problem.get("ctx", {})
        shown = {k: f"{v:g}" if isinstance(v, float) else v for k, v in context.items()}
        return words.format(**shown)
    message = str(problem["msg"]).removeprefix("Value error, ")
    message = message.replace("Input should be", "must be")
    return message[:1].lower() + message[1:]
