"""``mg.probe``: an audit of one judge by the probes that were asked for.

import magistrate as mg

report = mg.probe("mini", "examples/pairs.jsonl", probes=("position", "length"), out="audit")
print(report)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from magistrate.errors import InputError, RunError
from magistrate.formats.reading import SampleReader
from magistrate.judging.judge import Judge, Mode
from magistrate.judging.window import CutsItself
from magistrate.probes.bench import Bench, OnArm
from magistrate.probes.making import CORRECTION, FALSE_DISCOVERY_RATE, MATTERS, settled
from magistrate.probes.records import Effect, ProbeReport
from magistrate.probes.remembering import Remembering
from magistrate.records import Sample, to_json_line
from magistrate.store.asked import loaded_judge, source_of
from magistrate.store.disk import write_atomically, writing
from magistrate.store.folder import RunFolder, default_folder
from magistrate.store.work import OnNotice

REPORT_FILE = "probes.json"
"""The report in an audit's folder."""

DEFAULT = ("position", "length", "format", "knowledge", "self", "authority", "null", "template")
"""The probes of an audit unless it says which."""
STYLE_MATRIX = "style-matrix"
"""The one probe of samples with more than two answers."""
FOR_FILES = (STYLE_MATRIX, "perturbed")
"""Probes for files made for them."""
PROBES = (*DEFAULT, *FOR_FILES)

Samples = str | Path | Sequence[str | Path] | Iterable[Sample]


@dataclass(frozen=True, slots=True)
class Asked:
    """What an audit was asked for."""

    probes: tuple[str, ...] = DEFAULT
    own_models: tuple[str, ...] = ()
    seed: int = 0
    limit: int | None = None
    matters: float = MATTERS
    max_cost: float | None = None


def probe(
    judge: str | Path | Judge,
    samples: Samples,
    *,
    probes: Sequence[str] = DEFAULT,
    out: str | Path | None = None,
    limit: int | None = None,
    seed: int = 0,
    own_models: Collection[str] = (),
    matters: float = MATTERS,
    mode: Mode | None = None,
    engine_options: Mapping[str, str] | None = None,
    max_cost: float | None = None,
    start_over: bool = False,
    on_arm: OnArm = lambda _: None,
    on_notice: OnNotice | None = None,
) -> ProbeReport:
    """Measure what sways a judge, by experiments on the pairs of an input.

    Each probe changes the answers (or the prompt) in one respect and looks what that does to the
    verdicts. Every reading is kept in run folders below ``out``, so an audit that was stopped goes
    on with the same call. All effects that are tested are corrected together by the false discovery
    rate (Benjamini-Hochberg).

    Args:
        judge: Name or folder of a judge, or a loaded judge, which is then left open.
        samples: Samples, or paths of files. Pairs are used, and by ``style-matrix`` questions with
            several right and wrong answers.
        probes: Which; see :data:`PROBES`.
        out: Folder of the audit; without it ``runs/probe-JUDGE-TIME`` is made.
        limit: Use only the first so many samples; of several files, of each, questions that stand
            in most of the files first.
        seed: Another seed changes other answers of the pairs, in other words.
        own_models: Names of the models of the judge's own family, for the probe ``self``.
        matters: The smallest effect that is held to matter, as a share (0.1 is ten points): where
            none is found, it decides between "none found" and "too few to tell".
        mode: ``reason`` or ``score``; None leaves it to the judge.
        engine_options: Settings of the judge's engine by name.
        max_cost: US dollars that the audit may cost, all its runs together.
        start_over: Move the runs of an earlier audit in the folder aside, and begin anew.
        on_arm: Called with the name of every run before it begins; returns what watches it.
        on_notice: Called with what the user should know at once.

    Raises:
        InputError: There is no such probe.
        RunError: The folder is a run itself.
        MagistrateError: As :func:`magistrate.judge` says.
        InputError: The input holds nothing that a probe could use, or no own model.
    """
    asked = Asked(
        _checked(probes), tuple(own_models), seed, limit, _checked_share(matters), max_cost
    )
    inputs, found = read_input(samples, limit)
    pairs = tuple(sample for sample in found if len(sample.answers) == 2)
    others = tuple(sample for sample in found if len(sample.answers) > 2)
    if not pairs and not others:
        raise InputError("the input holds no pair of answers; probes need two answers or more")
    with loaded_judge(judge, mode, engine_options) as loaded, _remembering(loaded) as used:
        bench = Bench(
            used,
            _folder(out, used.spec.name),
            pairs,
            others,
            seed=seed,
            max_cost=max_cost,
            start_over=start_over,
            on_arm=on_arm,
            on_notice=on_notice,
        )
        effects = settled(measured(bench, asked), asked.matters)
        report = _report(bench, asked, inputs, len(found), effects)
    with writing(bench.folder):
        bench.folder.mkdir(parents=True, exist_ok=True)
    write_atomically(bench.folder / REPORT_FILE, to_json_line(report) + b"\n")
    return report


def measured(bench: Bench, asked: Asked) -> list[Effect]:
    """Return the effects of all probes, not corrected yet."""
    from magistrate.probes.authority import authority  # NumPy: on use
    from magistrate.probes.formatting import formatting
    from magistrate.probes.knowledge import knowledge
    from magistrate.probes.length import length
    from magistrate.probes.null import null
    from magistrate.probes.perturbed import perturbed
    from magistrate.probes.position import position
    from magistrate.probes.self_preference import check_models, self_preference
    from magistrate.probes.style_matrix import style_matrix
    from magistrate.probes.template import template

    experiments: dict[str, Callable[[], list[Effect]]] = {
        "position": lambda: position(bench),
        "length": lambda: length(bench),
        "format": lambda: formatting(bench),
        "knowledge": lambda: knowledge(bench),
        "self": lambda: self_preference(bench, asked.own_models),
        "authority": lambda: authority(bench),
        "null": lambda: null(bench),
        "template": lambda: template(bench),
        STYLE_MATRIX: lambda: style_matrix(bench),
        "perturbed": lambda: perturbed(bench),
    }
    if "self" in asked.probes:
        check_models(bench.pairs, asked.own_models)
    for name in asked.probes:
        if name != STYLE_MATRIX and not bench.pairs:
            raise InputError(f"probe '{name}' needs pairs of answers; the input has none")
    return [effect for name in asked.probes for effect in experiments[name]()]


def read_input(samples: Samples, limit: int | None) -> tuple[tuple[str, ...], list[Sample]]:
    """Return the names of the files and the first samples; of several files, of each."""
    source = source_of(samples, strict=False)
    if isinstance(source, SampleReader):
        return source.paths, first_samples(source, limit)
    return (), list(islice(source, limit))


def first_samples(reader: SampleReader, limit: int | None) -> list[Sample]:
    """Return the first samples; of several files that are not joined, so many of each.

    Of several files, questions that stand in most of them come first: what was changed in a file
    can be compared with the same pairs as they are in another one only if both are taken.
    """
    if limit is None or reader.joined is not None or len(reader.paths) < 2:
        return list(islice(reader, limit))
    found: list[tuple[str, Sample]] = []
    files: dict[str, set[str]] = {}
    for sample in reader:
        name = reader.where.file if reader.where else ""
        found.append((name, sample))
        files.setdefault(sample.question_text, set()).add(name)
    asked = {question: place for place, question in enumerate(files)}

    def rank(place: int) -> tuple[int, int]:
        question = found[place][1].question_text
        return -len(files[question]), asked[question]

    taken: Counter[str] = Counter()
    chosen = []
    for place in sorted(range(len(found)), key=rank):
        name = found[place][0]
        taken[name] += 1
        if taken[name] <= limit:
            chosen.append(place)
    return [found[place][1] for place in sorted(chosen)]


@contextmanager
def _remembering(judge: Judge) -> Iterator[Judge]:
    """Yield the judge; one with a scoring head scores equal prompts once."""
    engine = judge.engine
    if engine.info.scores and isinstance(engine, CutsItself):
        yield Judge(judge.spec, judge.family, Remembering(engine))
    else:
        yield judge


def _folder(out: str | Path | None, judge_name: str) -> Path:
    folder = default_folder(f"probe-{judge_name}") if out is None else Path(out)
    if RunFolder(folder).manifest.exists():
        raise RunError(
            f"{folder} is a run; an audit has runs below its own folder: give another one"
        )
    return folder


def _report(
    bench: Bench, asked: Asked, inputs: tuple[str, ...], found: int, effects: tuple[Effect, ...]
) -> ProbeReport:
    others = len(bench.others) if STYLE_MATRIX in asked.probes else 0
    return ProbeReport(
        judge=bench.judge.spec.name,
        family=bench.judge.spec.family,
        inputs=inputs,
        folder=str(bench.folder),
        probes=asked.probes,
        seed=asked.seed,
        limit=asked.limit,
        pairs=len(bench.pairs),
        others=others,
        left_out=found - len(bench.pairs) - others,
        matters=asked.matters,
        level=FALSE_DISCOVERY_RATE,
        correction=CORRECTION,
        tests=sum(effect.p is not None for effect in effects),
        readings=sum(run.manifest.readings for run in bench.runs.values()),
        cost=bench.cost,
        effects=effects,
    )


def _checked(probes: Sequence[str]) -> tuple[str, ...]:
    names = (probes,) if isinstance(probes, str) else tuple(probes)
    unknown = [name for name in names if name not in PROBES]
    if unknown or not names:
        near = [close for name in unknown for close in get_close_matches(name, PROBES, n=1)]
        hint = f"did you mean {', '.join(map(repr, near))}? " if near else ""
        raise InputError(
            f"no probe {', '.join(map(repr, unknown)) or 'was named'}; {hint}Probes: "
            f"{', '.join(PROBES)}"
        )
    return tuple(dict.fromkeys(names))


def _checked_share(matters: float) -> float:
    if not 0 < matters < 1:
        raise InputError(f"matters is {matters}; it takes a share above 0 and below 1")
    return matters
