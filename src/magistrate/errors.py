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

from collections.abc import Sequence


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
