"""What a family's templates must show and may use; checked when the family is loaded."""

from __future__ import annotations

from magistrate.errors import FamilyError
from magistrate.prompts.schema import FamilyFile
from magistrate.prompts.template import Template
from magistrate.prompts.untrusted import ANY_NUMBER


def check_slots(file: FamilyFile, template: Template, where: str) -> None:
    """Refuse a template that leaves out the question or an answer."""
    names = template.variables
    alone = {"answer", "dialogue"} & names
    together = {name for name in names if name.startswith(("answer", "dialogue"))} - alone
    kind = "reads each answer alone" if file.reads_alone else "reads all answers together"
    if file.verdict.scale is None and (scale := {"lowest", "highest"} & names):
        raise FamilyError(
            f"{where}: the verdict has no scale; do not use {', '.join(sorted(scale))}"
        )
    missing: list[str] = []
    if not names & {"question", "turns"} and not any(n.startswith("dialogue") for n in names):
        missing.append("question")
    if file.reads_alone:
        missing += [] if alone else ["answer"]
    elif not names & {"answers", "dialogues"}:
        numbered = range(1, file.min_answers + 1)
        absent = [k for k in numbered if not names & {f"answer_{k}", f"dialogue_{k}"}]
        fixed_count = file.max_answers == file.min_answers
        if not fixed_count or len(absent) == file.min_answers:
            missing.append("answers")
        else:
            missing += [f"answer_{k}" for k in absent]
    template.require(*missing)
    if forbidden := together if file.reads_alone else alone:
        raise FamilyError(f"{where}: the family {kind}; do not use {', '.join(sorted(forbidden))}")


def check_markers(file: FamilyFile, where: str) -> None:
    """Refuse a marker that no message writes: it was mistyped, or protects nothing."""
    wording = "\n".join(message.text or "" for message in file.messages)
    for marker in file.markers:
        if marker.partition(ANY_NUMBER)[0] not in wording:
            raise FamilyError(f"{where}: no message holds the marker '{marker}'; mend one of them")
