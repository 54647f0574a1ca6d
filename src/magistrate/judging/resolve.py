"""Judges by name: bundled ones, judge folders, and ``ENGINE:MODEL[@URL][#FAMILY]``."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from magistrate.engines.naming import parse_model_name
from magistrate.engines.table import ENGINES, open_engine
from magistrate.errors import JudgeNotFoundError
from magistrate.judging.calibrated import with_calibration
from magistrate.judging.folder import JUDGE_FILE, load_judge_folder, read_judge_file
from magistrate.judging.judge import Judge, Mode, make_judge
from magistrate.prompts.catalog import load_family
from magistrate.records import Sample

DEFAULT_FAMILY = "pair"
"""How an engine that writes is asked unless ``#FAMILY`` says otherwise."""

_BUNDLED = Path(__file__).parent.parent / "bundled"


@dataclass(frozen=True, slots=True)
class BundledJudge:
    """A judge that ships inside the package."""

    name: str
    version: str
    folder: Path

    @property
    def card(self) -> str:
        """The judge's card: what it is, how it was made, how good it is (Markdown)."""
        path = self.folder / "CARD.md"
        return path.read_text("utf-8") if path.exists() else "This judge has no card.\n"


def list_judges() -> Iterator[BundledJudge]:
    """Yield the judges that ship inside the package, by name."""
    for folder in sorted(_BUNDLED.iterdir()):
        if (folder / JUDGE_FILE).is_file():
            file = read_judge_file(folder)
            yield BundledJudge(file.name, file.version, folder)


def find_judge_folder(name: str) -> Path | None:
    """Return the folder of a judge, as bundled or of a path; None when ``name`` is neither.

    ``FOLDER#FAMILY`` is the folder's judge too: see :func:`named_family`.
    """
    return _folder_of(name) or (_folder_of(name.rpartition("#")[0]) if "#" in name else None)


def named_family(name: str) -> str | None:
    """Return which family ``FOLDER#FAMILY`` names; None where the folder alone is named.

    Judges trained both with and without references have two families.
    """
    return None if "#" not in name or _folder_of(name) else name.rpartition("#")[2]


def _folder_of(name: str) -> Path | None:
    if not name:
        return None
    if re.fullmatch(r"[\w-]+", name) and (_BUNDLED / name / JUDGE_FILE).is_file():
        return _BUNDLED / name
    path = Path(name).expanduser()
    return path if (path / JUDGE_FILE).is_file() else None


def load_judge(
    name: str,
    *,
    mode: Mode | None = None,
    options: Mapping[str, str] | None = None,
    demonstrations: Sequence[Sample] = (),
) -> Judge:
    """Load a judge by its name.

    Args:
        name: ``mini`` (bundled), a path to a judge folder (with ``#FAMILY`` where it was trained on
            several), or ``ENGINE:MODEL[@URL][#FAMILY]`` such
            as ``scripted:longer#pair``.
        mode: ``reason`` lets the judge explain; ``score`` stops it after the scores, and reads the
            exact distribution over verdicts where the engine can. None is ``reason``, or what a
            judge folder says. Judges with a scoring head know scores only.
        options: Settings of the engine by name, as text.
        demonstrations: Labelled samples that the judge is shown solved before each of its own; see
            :func:`magistrate.prompts.demonstrations.draw_demonstrations`.

    Raises:
        JudgeNotFoundError: The name means nothing here; the message lists what would.
        EngineError: The engine cannot run the model.
        FamilyError: The family is missing or broken, or cannot show the demonstrations.
    """
    folder = find_judge_folder(name)
    if folder is not None:
        judge = load_judge_folder(
            name,
            folder,
            options,
            mode=mode,
            demonstrations=demonstrations,
            family=named_family(name),
        )
        return with_calibration(judge, folder, JUDGE_FILE)
    parts = parse_model_name(name)
    if parts is None:
        raise _not_found(name)
    family = load_family(
        parts.family or DEFAULT_FAMILY, mode=mode or "reason", demonstrations=demonstrations
    )
    engine = open_engine(parts.engine, parts.model, parts.url, options)
    return with_calibration(make_judge(name, family, engine, url=parts.url))


def _not_found(name: str) -> JudgeNotFoundError:
    bundled = [judge.name for judge in list_judges()]
    lines = [f"no judge '{name}' here"]
    path = Path(name).expanduser()
    if path.is_dir():
        lines.append(f"'{name}' is a folder without a {JUDGE_FILE}")
    near = difflib.get_close_matches(name, bundled, n=1)
    if near:
        lines.append(f"did you mean '{near[0]}'?")
    lines.append(
        f"use a bundled judge ({', '.join(bundled) or 'none installed'}), a path to a judge "
        f"folder, or ENGINE:MODEL[@URL][#FAMILY] with an engine of {', '.join(sorted(ENGINES))}"
    )
    return JudgeNotFoundError("; ".join(lines))
