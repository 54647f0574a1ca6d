"""``magistrate data translate``: labelled samples in another language, labels kept.

Each different text is translated once. What must survive is checked: the numbers, and code between
backticks, word for word. A sample of which a text fails is not written; it is listed. Nothing here
knows whether a translation is good.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from magistrate.data.answers import batches
from magistrate.data.asking import Prompt, Respondent, Session, asked_folder
from magistrate.data.questions import AnyPath, dropped_path, write_list
from magistrate.data.replies import Reply
from magistrate.errors import InputError
from magistrate.formats.base import BadRow, Notice
from magistrate.formats.reading import read_samples
from magistrate.formats.source import keep_inputs
from magistrate.formats.writers import write_samples
from magistrate.messages import Message, Part, Sampling
from magistrate.records import Answer, Gold, Record, Sample, Turn, Usage, reference_of_turns
from magistrate.store.progress import OnProgress
from magistrate.store.work import OnNotice

INSTRUCTION = """\
Translate the user's text into {language}.
Translate faithfully, mistakes included: correct nothing, add nothing, leave nothing out.
If the text is a question or a request, translate it and do not answer it.
Keep numbers in digits, code, formulas, links and the layout as they are.
Reply with the translation alone."""

TRIES = 2
"""How often a text is translated whose numbers or code do not survive; the second time drawn."""

_SECOND_TEMPERATURE = 0.5
_FENCED = re.compile(r"```[^\n`]*\n(.*?)```", re.DOTALL)
_INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_DIGITS = re.compile(r"\d")


class SamplesTranslated(Record):
    """What came of it."""

    output: str
    language: str
    samples: int
    written: int
    texts: int
    """Different texts to translate."""
    failed: int
    """Samples not written."""
    failures: tuple[dict[str, Any], ...]
    """The first 1,000: row, id, field, reason."""
    dropped_file: str | None
    """All of them."""
    resumed: int
    usage: Usage
    cost: float
    bad: tuple[BadRow, ...]
    bad_count: int
    notices: tuple[Notice, ...]


def translate_samples(
    *files: AnyPath,
    out: AnyPath,
    engine: str,
    language: str,
    sampling: Sampling | None = None,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
    strict: bool = False,
    options: Mapping[str, str] | None = None,
    max_cost: float | None = None,
    on_progress: OnProgress | None = None,
    on_notice: OnNotice | None = None,
) -> SamplesTranslated:
    """Translate question, answers, reference, rubric, passages and reasons of samples.

    Labels stay. ``meta["translated"]`` says from what, into what, by whom, and of which sample
    (``of`` is the original's :attr:`~magistrate.records.Sample.text_id`, so that a split can keep
    both on one side). The same call goes on where it was stopped.

    Args:
        files: Samples in any known format.
        out: File to write, in magistrate's own format.
        engine: Who translates: ``[LABEL=]ENGINE:MODEL[@URL]``.
        language: Into what, in words that the engine understands, such as ``German``.
        sampling: How the engine writes; greedy, 2,048 tokens, by default.
        format: Format of the files.
        columns: Our field name to the file's column name.
        limit: Translate only the first so many samples.
        strict: Stop at the first bad row.
        options: Settings of the engine by name.
        max_cost: US dollars that all replies may cost together.
        on_progress: Called up to ten times a second.
        on_notice: Called with what the user should know at once.

    Raises:
        InputError: A file cannot be read, or holds no samples.
        EngineError: The engine cannot go on; what was translated is kept. Likewise CostLimitError
            and RunInterrupted.
        RunError: The output cannot be written.
    """
    keep_inputs(files, out)
    if not language.strip():
        raise InputError("no language is named; say which with --to, such as German")
    reader = read_samples(*files, format=format, columns=columns, strict=strict, limit=limit)
    samples = list(reader)
    texts = list(dict.fromkeys(t for s in samples for _, t in texts_of(s) if t.strip()))
    how = sampling or Sampling(max_tokens=2048)
    failures: list[dict[str, Any]] = []
    with Session(
        asked_folder(Path(out)),
        total=len(texts),
        max_cost=max_cost,
        options=options,
        on_progress=on_progress,
        on_notice=on_notice,
    ) as session:
        with session.respondent(engine) as model:
            translator = _Translator(model, language, how)
            for chunk in batches(texts, model.batch):
                translator.translate(chunk)
            label = model.label
        translated = []
        for row, sample in enumerate(samples, 1):
            fault = translator.fault_of(sample)
            if fault is None:
                translated.append(_translated(sample, translator.done, language, label))
            else:
                name, reason = fault
                failures.append(
                    {"row": row, "id": sample.source_id, "field": name, "reason": reason}
                )
        write_samples(translated, str(out), to="samples")
        return SamplesTranslated(
            output=str(out),
            language=language,
            samples=len(samples),
            written=len(translated),
            texts=len(texts),
            failed=len(failures),
            failures=tuple(failures[:1000]),
            dropped_file=write_list(dropped_path(Path(out)), failures),
            resumed=session.resumed,
            usage=session.replies.usage,
            cost=session.replies.cost,
            bad=tuple(reader.bad[:1000]),
            bad_count=reader.bad_count,
            notices=tuple(reader.notices),
        )


def texts_of(sample: Sample) -> Iterator[tuple[str, str]]:
    """Yield all texts of a sample that are translated, each with the name of its field."""
    if isinstance(sample.question, str):
        yield "question", sample.question
    else:
        yield from (("question", turn.text) for turn in sample.question)
    for place, answer in enumerate(sample.answers, 1):
        yield f"answer {place}", answer.text
        yield from ((f"answer {place}", turn.text) for turn in answer.turns)
    for text in sample.turn_references:
        yield "reference", text
    if sample.rubric:
        yield "rubric", sample.rubric
    yield from (("context", text) for text in sample.context)
    yield from (("reasons", gold.reasons) for gold in sample.gold if gold.reasons)


def lost(original: str, translation: str) -> str | None:
    r"""Return what of a text does not survive in its translation; None if all does.

    Numbers count with the separators of any language left out, so 1,234.5 may become 1.234,5; code
    between backticks must be the same, but for comments nobody translates there anyway.

    >>> lost("Take 3 of `x`.", "Nimm 3 von `x`.") is None
    True
    >>> lost("Take 3.", "Nimm drei.")
    'the number 3 is lost'
    """
    for what, pattern in (("a block of code", _FENCED), ("the code", _INLINE)):
        missing = Counter(pattern.findall(original)) - Counter(pattern.findall(translation))
        if missing:
            shown = next(iter(missing)).strip()
            return f"{what} {shown[:40]!r} is lost" if pattern is _INLINE else f"{what} is changed"
    plain = [_INLINE.sub(" ", _FENCED.sub(" ", text)) for text in (original, translation)]
    before, after = (Counter(_numbers(text)) for text in plain)
    if missing := before - after:
        return f"the number {next(iter(missing))} is lost"
    if added := after - before:
        return f"the number {next(iter(added))} was not there"
    return None


def _numbers(text: str) -> list[str]:
    """Return the numbers of a text as their digits alone."""
    return ["".join(_DIGITS.findall(number)) for number in _NUMBER.findall(text)]


class _Translator:
    """Translates texts, each once, and keeps why some could not be."""

    def __init__(self, model: Respondent, language: str, sampling: Sampling) -> None:
        self.done: dict[str, str] = {}
        self.faults: dict[str, str] = {}
        self._model, self._sampling = model, sampling
        self._instruction = INSTRUCTION.format(language=language)

    def translate(self, texts: Sequence[str]) -> None:
        """Translate; what does not survive the check is tried again."""
        left = list(texts)
        for attempt in range(TRIES):
            replies = self._model.ask([self._prompt(text, attempt) for text in left])
            again = []
            for text, reply in zip(left, replies, strict=True):
                fault = _fault(text, reply)
                if fault is None:
                    self.done[text] = reply.text.strip("\n")
                    self.faults.pop(text, None)
                else:
                    self.faults[text] = fault
                    if reply.error is None:
                        again.append(text)
            left = again
            if not left:
                return

    def fault_of(self, sample: Sample) -> tuple[str, str] | None:
        """Return field and reason of the first text of a sample that has no translation."""
        for name, text in texts_of(sample):
            if text.strip() and text not in self.done:
                return name, self.faults.get(text, "not translated")
        return None

    def _prompt(self, text: str, attempt: int) -> Prompt:
        messages = (
            Message("system", (Part(self._instruction),)),
            Message("user", (Part(text, "question"),)),
        )
        if not attempt:
            return Prompt(messages, self._sampling)
        warmer = max(self._sampling.temperature, _SECOND_TEMPERATURE)
        seed = self._sampling.seed + attempt
        return Prompt(messages, replace(self._sampling, temperature=warmer, seed=seed))


def _fault(text: str, reply: Reply) -> str | None:
    if reply.error is not None:
        return reply.error
    if reply.is_empty:
        return "the translation is empty"
    if reply.is_cut:
        return "the translation is cut by the limit of tokens"
    return lost(text, reply.text)


def _translated(sample: Sample, done: Mapping[str, str], language: str, label: str) -> Sample:
    def into(text: str) -> str:
        return done.get(text, text)  # blanks have no translation

    def turns(given: Sequence[Turn]) -> tuple[Turn, ...]:
        return tuple(Turn(role=turn.role, text=into(turn.text)) for turn in given)

    def reasons(gold: Gold) -> Gold:
        return gold.model_copy(update={"reasons": gold.reasons and into(gold.reasons)})

    reference = sample.reference
    if reference is not None:
        parts = [into(text) for text in sample.turn_references]
        reference = parts[0] if len(parts) == 1 else reference_of_turns(parts)
    asked = sample.question
    return sample.model_copy(
        update={
            "question": into(asked) if isinstance(asked, str) else turns(asked),
            "answers": tuple(
                Answer(text=into(answer.text), model=answer.model, turns=turns(answer.turns))
                for answer in sample.answers
            ),
            "reference": reference,
            "rubric": sample.rubric and into(sample.rubric),
            "context": tuple(map(into, sample.context)),
            "gold": tuple(map(reasons, sample.gold)),
            "language": language,
            "meta": {
                **sample.meta,
                "translated": {
                    "from": sample.language,
                    "to": language,
                    "by": label,
                    "of": sample.text_id,
                },
            },
        }
    )
