"""The manifest: which data sets there are, and what each is good for in a study.

A manifest is a TOML file (YAML where PyYAML is installed) that lies in the data folder as
``magistrate.toml``; paths in it are relative to itself. It holds facts about files, never data. The
package ships one for the public data sets, which is used for a folder that has no manifest of its
own. A set whose file is not there is listed as missing, never left out in silence.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from magistrate.errors import InputError
from magistrate.records import Record

DATA_SETTING = "MAGISTRATE_DATA"
"""Environment: the data folder, where none is named."""

FILE_NAMES = ("magistrate.toml", "magistrate.yaml", "magistrate.yml")
"""Names that a data folder's own manifest may have."""

PUBLIC = Path(__file__).parent / "public.toml"
"""The bundled manifest of public data sets."""

Role = Literal[
    "benchmark", "in-domain", "varied", "natural", "adversarial", "aspect", "demonstrations"
]
"""What a set is used for; a set may have several roles.

============== ===================================================================================
benchmark      *generalise*: pairs to compare over domains
in-domain      *generalise*: the same, and of the kind that the judge was trained on
varied         also judged in other schemes, with other prompts, with reasons and demonstrations
natural        *fairness*: pairs as they come
adversarial    *fairness*: pairs whose worse answer looks better
aspect         *aspects*: labels of one quality, such as factuality
demonstrations *scalability*: labelled pairs of which some are shown to the judge, solved
============== ===================================================================================
"""

_COMPRESSED = ".gz"
_FOLDER_NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"


class SetEntry(Record):
    """One data set."""

    name: str = Field(pattern=_FOLDER_NAME)
    """Short name; also that of the set's run folder."""
    title: str = ""
    """For tables; the name where it is empty."""
    files: tuple[str, ...] = Field(min_length=1)
    """Paths relative to the manifest; ``*`` stands for any name."""
    roles: tuple[Role, ...] = Field(min_length=1)
    format: str | None = None
    """Read the files so; recognised when not given."""
    columns: dict[str, str] = Field(default_factory=dict)
    """Our field to the file's column, as ``--columns`` takes it."""
    questions: str | None = None
    """File of questions, for answers that name theirs by id only."""
    holds: Literal["pairs", "answers"] = "pairs"
    """Pairs with a preference, or single answers with a label."""
    aspect: str | None = None
    """What the labels are about, such as ``factuality``."""
    good_label: str | None = None
    """Of single answers: the label of a good one."""
    rubric: str | None = None
    """What to judge by, shown to judges whose prompt has a place for it."""
    categories: dict[str, str] = Field(default_factory=dict)
    """The file's category to the one to report; what is not named stays as it is."""
    licence: str = ""
    note: str = ""

    @property
    def shown(self) -> str:
        """Name for tables."""
        return self.title or self.name

    @field_validator("files", mode="before")
    @classmethod
    def _one_file(cls, files: Any) -> Any:
        return [files] if isinstance(files, str) else files

    @model_validator(mode="after")
    def _answers_have_a_good_label(self) -> Self:
        if self.holds == "answers" and (self.good_label is None or set(self.roles) != {"aspect"}):
            raise ValueError(
                "a set of single answers serves the role 'aspect' alone and needs 'good_label'"
            )
        return self


class ManifestFile(Record):
    """The contents of a manifest."""

    name: str = ""
    sets: tuple[SetEntry, ...] = Field(min_length=1, alias="set")

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [entry.name for entry in self.sets]
        again = sorted({name for name in names if names.count(name) > 1})
        if again:
            raise ValueError(f"two sets have the name {', '.join(again)}")
        return self


@dataclass(frozen=True, slots=True)
class DataSet:
    """A set of the manifest with its files found, or not."""

    entry: SetEntry
    paths: tuple[Path, ...]
    """The files that are there."""
    missing: tuple[str, ...]
    """Those that are not."""
    questions: Path | None = None

    def has(self, *roles: Role) -> bool:
        """Whether the set has one of these roles."""
        return bool(set(roles) & set(self.entry.roles))


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest with its files looked up."""

    path: Path
    base: Path
    """Folder that paths are relative to."""
    sets: tuple[DataSet, ...]

    def of(self, *roles: Role) -> tuple[DataSet, ...]:
        """Return the sets with one of these roles whose files are there."""
        return tuple(one for one in self.sets if one.has(*roles) and not one.missing)

    def missing(self, *roles: Role) -> tuple[str, ...]:
        """Return in words which sets with one of these roles have no file."""
        return tuple(
            f"{one.entry.shown}: no {', '.join(one.missing)} in {self.base}"
            for one in self.sets
            if one.has(*roles) and one.missing
        )

    def only(self, names: Sequence[str]) -> Manifest:
        """Return a manifest of some sets; those for demonstrations stay, for these alone.

        Raises:
            InputError: There is no set of a name.
        """
        known = [one.entry.name for one in self.sets]
        for name in names:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=2)
                hint = f"did you mean {' or '.join(near)}? " if near else ""
                raise InputError(
                    f"no data set '{name}' in {self.path}; {hint}sets: {', '.join(known)}"
                )
        kept = []
        for one in self.sets:
            if one.entry.name in names:
                kept.append(one)
            elif one.has("demonstrations"):
                entry = one.entry.model_copy(update={"roles": ("demonstrations",)})
                kept.append(replace(one, entry=entry))
        return Manifest(self.path, self.base, tuple(kept))


def find_manifest(data: str | Path | None) -> Manifest:
    """Find the manifest of a data folder, or read the one that is named.

    Args:
        data: A manifest file, or a folder; None for the folder of ``MAGISTRATE_DATA``.

    Raises:
        InputError: There is no such file or folder, the manifest is wrong, or not one of its files
            is there.
    """
    if data is None:
        data = os.environ.get(DATA_SETTING) or None
    if data is None:
        raise InputError(
            f"no data: name a manifest or a folder of data sets with --data, or set {DATA_SETTING}"
        )
    path = Path(data).expanduser()
    if path.is_file():
        return _checked(path, path.parent)
    if not path.is_dir():
        raise InputError(f"there is no file or folder {path}; --data takes a manifest or a folder")
    own = next((path / name for name in FILE_NAMES if (path / name).is_file()), None)
    return _checked(own or PUBLIC, path)


def _checked(path: Path, base: Path) -> Manifest:
    manifest = read_manifest_file(path, base)
    if not any(one.paths for one in manifest.sets):
        raise InputError(
            f"{base} has none of the files that {path} names (such as "
            f"{manifest.sets[0].entry.files[0]}); write a {FILE_NAMES[0]} there that names your "
            f"own (see docs/studies.md)"
        )
    return manifest


def read_manifest_file(path: Path, base: Path) -> Manifest:
    """Read a manifest and look up its files under ``base``.

    Raises:
        InputError: The file cannot be read or does not say what a manifest says.
    """
    try:
        values = _parse(path)
        file = ManifestFile.model_validate(values)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        problems = "; ".join(_problem(each, values) for each in error.errors(include_url=False)[:5])
        raise InputError(f"{path}: {problems} (see docs/studies.md)") from error
    return Manifest(path, base, tuple(_found(entry, base) for entry in file.sets))


def _parse(path: Path) -> Any:
    try:
        text = path.read_text("utf-8")
        if path.suffix.lower() in (".yaml", ".yml"):
            return _yaml(text, path)
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not valid TOML: {error}") from error


def _yaml(text: str, path: Path) -> Any:
    try:
        import yaml  # type: ignore[import-untyped]
    except ImportError as error:
        raise InputError(
            f"{path} is YAML, and PyYAML is not installed; run pip install pyyaml, or write the "
            f"manifest as TOML"
        ) from error
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InputError(f"{path} is not valid YAML: {' '.join(str(error).split())}") from error


def _problem(problem: Any, values: Any) -> str:
    place = [str(part) for part in problem["loc"]]
    if len(problem["loc"]) > 1 and problem["loc"][0] == "set":
        number = problem["loc"][1]
        try:
            name = values["set"][number]["name"]
        except (LookupError, TypeError):
            name = f"number {number + 1}"
        place = [f"set '{name}'", *place[2:]]
    return f"{', '.join(place) or 'the file'}: {problem['msg']}"


def _found(entry: SetEntry, base: Path) -> DataSet:
    paths: list[Path] = []
    missing: list[str] = []
    for name in entry.files:
        found = list(_paths(base, name))
        paths += found
        if not found:
            missing.append(name)
    questions = base / entry.questions if entry.questions else None
    if questions is not None and not questions.is_file():
        missing.append(str(entry.questions))
    return DataSet(entry, tuple(paths), tuple(missing), questions)


def _paths(base: Path, name: str) -> Iterable[Path]:
    """Yield the files that a name means; a compressed one stands in for the plain one."""
    if "*" in name and not Path(name).is_absolute():
        yield from sorted(path for path in base.glob(name) if path.is_file())
        return
    for path in (base / name, base / (name + _COMPRESSED)):
        if path.is_file():
            yield path
            return
