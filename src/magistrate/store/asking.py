"""``mg.ask``: follow-up questions to the judge of a run, kept in ``conversations.jsonl``."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from magistrate.errors import EngineError, InputError, RunMismatchError
from magistrate.judging.followup import Conversation
from magistrate.judging.judge import Judge
from magistrate.judging.plan import Reading
from magistrate.judging.spending import Spending
from magistrate.records import Judgment, Sample
from magistrate.store.asked import loaded_judge
from magistrate.store.conversations import FollowUp, append_follow_up, asked_of
from magistrate.store.demonstrating import kept_demonstrations
from magistrate.store.index import JudgmentReader, read_index
from magistrate.store.mismatch import judge_differences
from magistrate.store.run import Run, open_run

SHORTEST_PREFIX = 4
"""Characters of an id that name a sample, if no other's begins so."""

_ROW = "row:"
_LISTED = 5


def ask(
    run: str | Path | Run,
    sample: str | int,
    *questions: str,
    reversed: bool = False,  # noqa: A002
    repeat: int = 0,
    answer: int | None = None,
    judge: str | Path | Judge | None = None,
    engine_options: Mapping[str, str] | None = None,
    max_cost: float | None = None,
) -> tuple[FollowUp, ...]:
    """Ask the judge of a run about a judgment, and return its reply to each question.

    The judge reads its own prompt and its own reply again, then the question. Each reply is added
    to ``conversations.jsonl`` in the run's folder.

    Args:
        run: A run, or its folder.
        sample: Which sample: its id in the input file, its row from 1, or the beginning of either
            its id or its content id; ``row:N`` where ids are numbers too.
        questions: Each builds on the ones before.
        reversed: Ask about the reading with the answers in reversed order.
        repeat: Ask about which repeat of it, from 0.
        answer: Which answer, from 1, where the judge reads each alone.
        judge: The judge, where the run's own name for it leads nowhere any more.
        engine_options: Settings of its engine; those of the run when None.
        max_cost: US dollars that the run may cost, its judgments and all questions together; the
            limit of the run when None.

    Raises:
        InputError: No such sample, or several; or the reading has no judgment.
        EngineError: The judge writes no text, its engine failed, or its price is not known and
            there is a limit.
        CostLimitError: The next question could pass the limit; replies before it are kept.
        RunMismatchError: The judge is not the one of the run any more.
        RunError: The folder is not a run, or cannot be written.
    """
    opened = run if isinstance(run, Run) else open_run(run)
    if not questions:
        raise InputError("there is no question to ask")
    if _mode(opened) is None:
        raise EngineError(
            f"judge '{opened.manifest.judge.name}' of {opened.path} has a scoring head: it writes "
            f"no text and cannot be asked; only judges that write can"
        )
    row, found = find_sample(opened, sample)
    reading = _reading(opened, found, is_reversed=reversed, repeat=repeat)
    part = _part(opened, reading, answer)
    judgment = _judgment(opened, reading)
    settings = opened.manifest.settings
    options = settings.engine_options if engine_options is None else dict(engine_options)
    name = opened.manifest.judge.name if judge is None else judge
    shown = () if isinstance(name, Judge) else kept_demonstrations(opened.folder)
    with loaded_judge(name, _mode(opened), options, shown) as loaded:
        differences = list(judge_differences(opened.manifest.judge, loaded.spec))
        if differences:
            raise RunMismatchError(
                f"judge '{loaded.spec.name}' is not the one of {opened.path} any more:\n  "
                + "\n  ".join(differences)
            )
        spending = _spending(opened, loaded, max_cost)
        conversation = Conversation(loaded, reading, judgment, part=part, spending=spending)
        follow_ups = []
        for turn, question in enumerate(questions):
            completion = conversation.ask(question)
            follow_up = FollowUp(
                time=datetime.now(UTC),
                row=row,
                sample_id=found.id,
                key=reading.key,
                order=reading.order,
                answer=reading.order[part] if opened.manifest.reads_alone else None,
                turn=turn,
                question=question,
                reply=completion.text,
                finish_reason=completion.finish_reason,
                usage=completion.usage,
                cost=completion.cost,
                seconds=completion.seconds,
            )
            append_follow_up(opened.folder.conversations, follow_up)
            follow_ups.append(follow_up)
    return tuple(follow_ups)


def find_sample(run: Run, name: str | int) -> tuple[int, Sample]:
    """Return row, from 1, and sample that a name means; see :func:`ask`.

    Raises:
        InputError: None is meant, or several are.
    """
    text = str(name)
    by_source: list[tuple[int, Sample]] = []
    by_row: list[tuple[int, Sample]] = []
    by_prefix: list[tuple[int, Sample]] = []
    row = text.removeprefix(_ROW) if isinstance(name, str) else text
    for number, sample in enumerate(run.samples(), 1):
        if sample.source_id == text and isinstance(name, str):
            by_source.append((number, sample))
        if row.isdecimal() and number == int(row):
            by_row.append((number, sample))
        ids = (sample.source_id or "", sample.id, sample.text_id)
        if len(text) >= SHORTEST_PREFIX and any(each.startswith(text) for each in ids):
            by_prefix.append((number, sample))
    for matches in (by_source, by_row, by_prefix):
        if len(matches) == 1:
            return matches[0]
        if matches:
            rows = ", ".join(f"{_ROW}{number}" for number, _ in matches[:_LISTED])
            more = ", ..." if len(matches) > _LISTED else ""
            raise InputError(f"'{text}' is {len(matches)} samples of {run.path}: {rows}{more}")
    raise InputError(
        f"there is no sample '{text}' in {run.path}; give an id of the input file or a sample's "
        f"content id, the first {SHORTEST_PREFIX} or more characters of one, or a row from 1 to "
        f"{run.manifest.samples}"
    )


def _reading(run: Run, sample: Sample, *, is_reversed: bool, repeat: int) -> Reading:
    settings = run.manifest.settings
    given = tuple(range(len(sample.answers)))
    wanted = given[::-1] if is_reversed else given
    for reading in run.plan.readings_of(sample):
        if reading.order == wanted and reading.repeat == repeat:
            return reading
    raise InputError(
        f"the run has no such reading: orders '{settings.orders}', repeats {settings.repeats} "
        f"(counted from 0)"
    )


def _part(run: Run, reading: Reading, answer: int | None) -> int:
    """Return which prompt of the reading is meant."""
    count = len(reading.order)
    if not run.manifest.reads_alone:
        if answer is not None:
            raise InputError("the judge read all answers together; leave out --answer")
        return 0
    if answer is None and count > 1:
        raise InputError(f"the judge read each answer alone; say which with --answer 1 to {count}")
    wanted = (answer or 1) - 1
    if wanted not in reading.order:
        raise InputError(f"there is no answer {answer}; the sample has {count}")
    return reading.order.index(wanted)


def _judgment(run: Run, reading: Reading) -> Judgment:
    path = run.folder.judgments
    with closing(JudgmentReader(path, read_index(path))) as reader:
        judgment = reader.get(reading.key)
    if judgment is None:
        raise InputError("this reading is not judged yet; the command that began the run goes on")
    if judgment.status == "error":
        raise InputError(f"the judge gave no reply to ask about: {judgment.error}")
    return judgment


def _spending(run: Run, judge: Judge, max_cost: float | None) -> Spending:
    """Return what the run took so far, and its limit."""
    limit = run.manifest.settings.max_cost if max_cost is None else max_cost
    if limit is not None and judge.engine.info.price_unknown:
        raise EngineError(
            f"a cost limit cannot be kept: the price of '{judge.engine.info.model}' is not known; "
            f"give it as an engine option"
        )
    asked = asked_of(run.folder.conversations)
    return Spending(run.manifest.cost + asked.cost, limit, doing="asking")


def _mode(run: Run) -> Literal["reason", "score"] | None:
    mode = run.manifest.judge.settings.get("mode")
    return mode if mode in ("reason", "score") else None
