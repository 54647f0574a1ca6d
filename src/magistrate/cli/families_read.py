"""``magistrate families read``: how a family reads stored replies."""

from __future__ import annotations

import json
from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from magistrate.cli.help import example
from magistrate.cli.options import QuietOption
from magistrate.cli.terminal import Terminal

if TYPE_CHECKING:
    from magistrate.formats.replies import StoredReply
    from magistrate.prompts.base import Verdict
    from magistrate.prompts.text_family import TextFamily

EXAMPLES = example(
    "magistrate families read pair examples/replies.jsonl",
    "magistrate families read pair examples/replies.jsonl --json",
)


class ModeName(StrEnum):
    """The modes of a family."""

    reason = "reason"
    score = "score"


def read_replies(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="A family, or its folder.", show_default=False),
    ],
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Replies: JSON, JSON Lines, CSV or Parquet with a text in each row, a run folder, "
            "or one reply a line; `-` for standard input.",
            show_default=False,
        ),
    ],
    field: Annotated[
        str | None,
        typer.Option(
            "--field",
            metavar="NAME",
            help="Where each row keeps the reply, such as `judgment.response` or `games.0.text`; "
            "by default the first of the usual names.",
            show_default=False,
        ),
    ] = None,
    answers: Annotated[
        int | None,
        typer.Option(
            "--answers",
            metavar="N",
            min=1,
            help="How many answers the judge saw; by default what the file says, or the family's "
            "fewest.",
            show_default=False,
        ),
    ] = None,
    mode: Annotated[
        ModeName | None,
        typer.Option(
            metavar="reason|score",
            help="In which mode the replies were written: in score mode some families fix their "
            "start. By default that of the run folder, or reason.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print one JSON object a line, one for each reply (keys: docs/json.md)."
        ),
    ] = False,
    quiet: QuietOption = False,
) -> None:
    """Read stored replies of a judge: status, verdict, and why there is none, for each.

    Preference, scores and ranking are in the order in which the judge saw the answers.
    """
    from magistrate.formats.base import BadRow
    from magistrate.formats.replies import Replies
    from magistrate.prompts.catalog import load_family

    terminal = Terminal(as_json, quiet)
    family = load_family(name, mode=_mode(mode, file))
    replies = Replies(file, field)
    statuses: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    bad: list[BadRow] = []
    for reply in replies:
        if isinstance(reply, BadRow):
            bad.append(reply)
            continue
        verdict = _read(family, reply, answers)
        statuses[verdict.status] += 1
        if verdict.error:
            reasons[_reason(verdict)] += 1
        if as_json:
            print(json.dumps(_as_json(reply, verdict), allow_nan=False))
        else:
            terminal.line(f"{reply.row:>6}  {verdict.status:<10}{_words(verdict)}")
    terminal.bad_rows(bad, len(bad), None)
    counted = [f"{count:,} {status}" for status, count in statuses.most_common()]
    why = [f"{reason} {count:,}" for reason, count in reasons.most_common()]
    terminal.note(
        f"{sum(statuses.values()):,} replies: {', '.join(counted) or 'none'}"
        + (f" ({', '.join(why)})" if why else "")
    )


def _mode(asked: ModeName | None, file: str) -> Any:
    if asked is not None:
        return asked.value
    if (Path(file) / "run.json").is_file():
        from magistrate.store.run import open_run

        return open_run(file).manifest.judge.settings.get("mode", "reason")
    return "reason"


def _read(family: TextFamily, reply: StoredReply, answers: int | None) -> Verdict:
    from magistrate.messages import Completion, FinishReason
    from magistrate.prompts.base import Verdict
    from magistrate.records import Answer, Sample

    known = reply.finish_reason in get_args(FinishReason)
    finish: Any = reply.finish_reason if known else "stop"
    completions = [
        Completion(key=str(place), text=text, finish_reason=finish)
        for place, text in enumerate(reply.texts)
    ]
    if family.reads_alone:
        count = len(completions)
        if count == 1 and (reply.answers or 1) > 1:
            error = "several_replies: the replies about several answers stand in one text"
            return Verdict(status="unparsed", error=error)
    else:
        count = answers or reply.answers or family.min_answers
    sample = Sample(question="", answers=(Answer(text=""),) * count)
    return family.read(completions, sample, tuple(range(count)))


def _reason(verdict: Verdict) -> str:
    return (verdict.error or "").partition(":")[0]


def _words(verdict: Verdict) -> str:
    if verdict.status != "ok":
        return verdict.error or ""
    parts = []
    if verdict.scores:
        parts.append(" ".join(f"{score:g}" for score in verdict.scores))
    if verdict.ranking:
        parts.append("ranks " + " ".join(map(str, verdict.ranking)))
    if verdict.preference:
        parts.append(verdict.preference)
    return ", ".join(parts)


def _as_json(reply: StoredReply, verdict: Verdict) -> dict[str, Any]:
    return {
        "row": reply.row,
        "status": verdict.status,
        "reason": _reason(verdict) if verdict.error else None,
        "preference": verdict.preference,
        "scores": list(verdict.scores) if verdict.scores else None,
        "ranking": list(verdict.ranking) if verdict.ranking else None,
        "error": verdict.error,
        "reasons": verdict.reasons,
        "text": reply.texts[0] if len(reply.texts) == 1 else list(reply.texts),
    }
