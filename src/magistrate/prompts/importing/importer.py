"""From the name of a peer's family and a path to a stored family folder."""

from __future__ import annotations

import difflib
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from magistrate.errors import FamilyError
from magistrate.prompts import catalog
from magistrate.prompts.importing import generic, toml
from magistrate.prompts.importing.drafting import Draft, draft
from magistrate.prompts.importing.origin import Origin, origin_of
from magistrate.prompts.importing.recipe import Expression, Fill, Recipe
from magistrate.prompts.importing.recipes import (
    alpaca_eval,
    autoj,
    judgebench,
    judgelm,
    mtbench,
    pandalm,
    prometheus,
)
from magistrate.prompts.importing.texts import Text, read_texts
from magistrate.prompts.schema import FAMILY_FILE
from magistrate.prompts.template import VARIABLES
from magistrate.prompts.text_family import TextFamily

RECIPES: Mapping[str, Recipe] = {
    recipe.family: recipe
    for module in (judgelm, pandalm, autoj, prometheus, mtbench, judgebench)
    for recipe in module.RECIPES
}
"""The known families of peers by name, but for AlpacaEval's, which its own files describe."""

KNOWN: tuple[str, ...] = (*RECIPES, alpaca_eval.FAMILY)

_UNKNOWN_LICENCE = "unknown"
_MOST_SHOWN = 40
_NO_MARKERS = (
    "no words stand around question and answers, so nothing marks where one ends; an answer could "
    "pass for another section"
)


@dataclass(frozen=True, slots=True)
class Imported:
    """What was stored."""

    name: str
    folder: Path
    peer: str
    prompt: str
    """Name of the prompt in the peer's files."""
    judge: str
    """A judge that the wording is for, as ``--judge`` takes it."""
    origins: tuple[Origin, ...]
    """Each file that was read, the prompt's own first."""
    url: str | None
    """The project's address."""
    licence: str
    licence_note: str
    slots: Mapping[str, str]
    """Each place of the peer's, and our variable in it."""
    needs: tuple[str, ...]
    """What a sample must have besides question and answers."""
    reads_alone: bool
    has_score_mode: bool
    replaced: bool
    """Whether an earlier import of that name was replaced."""
    notes: tuple[str, ...]


def import_family(
    name: str,
    path: Path,
    *,
    prompt: str | None = None,
    as_name: str | None = None,
    licence: str | None = None,
    like: str | None = None,
    slots: Mapping[str, str] | None = None,
) -> Imported:
    """Read a peer's wording and store it as a family of the user's.

    Args:
        name: One of :data:`KNOWN`; any other name with ``like``.
        path: The peer's file, or a folder of its repository or installed package.
        prompt: Name of the prompt in the peer's files, where it is not the usual one.
        as_name: Name under which the family is stored; otherwise ``name``.
        licence: The wording's licence, where no licence file tells it.
        like: For a wording of no known peer: a family whose replies look alike.
        slots: Further places of the peer's, and our variables for them.

    Raises:
        FamilyError: Nothing is stored; the message says what was looked for and what was found.
    """
    path = path.expanduser()
    if not path.exists():
        raise FamilyError(f"{path}: no such file or folder")
    stored_as = as_name or name
    _check_name(stored_as, name if name in RECIPES else "")
    recipe, texts = _gather(name, path, prompt, like)
    told_slots = {theirs: _expression(ours) for theirs, ours in (slots or {}).items()}
    fill: dict[str, Fill] = {**recipe.fill, **told_slots}
    recipe = replace(recipe, family=stored_as, fill=fill)
    chosen = None if name == alpaca_eval.FAMILY else prompt
    made = draft(recipe, texts, prompt=chosen)
    files = dict.fromkeys(text.file for text in reversed(made.texts))
    origins = tuple(origin_of(file, path) for file in files)
    url = next((origin.url for origin in origins if origin.url), recipe.url) or None
    package = next((f" ({origin.package})" for origin in origins if origin.package), "")
    found_licence = next((origin.licence for origin in origins if origin.licence), None)
    told = licence or found_licence or _UNKNOWN_LICENCE
    made.family["source"] = {
        "name": f"{recipe.peer}{package}: {chosen or recipe.prompt}",
        "url": url,
        "licence": told,
        "file": ", ".join(origin.file for origin in origins),
        "sha256": ", ".join(origin.sha256 for origin in origins),
        "commit": next((origin.commit for origin in origins if origin.commit), None),
    }
    family, folder, replaced = _store(made, stored_as)
    return Imported(
        name=stored_as,
        folder=folder,
        peer=recipe.peer,
        prompt=chosen or recipe.prompt,
        judge=recipe.judge,
        origins=origins,
        url=url,
        licence=told,
        licence_note="as given" if licence else origins[0].licence_note,
        slots=made.slots,
        needs=tuple(n for n in ("reference", "rubric") if n in made.slots.values()),
        reads_alone=family.reads_alone,
        has_score_mode=family.file.score_mode is not None,
        replaced=replaced,
        notes=(*recipe.notes, *((_NO_MARKERS,) if not made.family["markers"] else ())),
    )


def _gather(
    name: str, path: Path, prompt: str | None, like: str | None
) -> tuple[Recipe, Sequence[Text]]:
    """Return the recipe and the texts of the files that it is about."""
    if name == alpaca_eval.FAMILY:
        recipe = _configured(path, prompt)
        return recipe, read_texts(Path(recipe.files[0]))
    recipe_or_none = RECIPES.get(name)
    if recipe_or_none is not None:
        _check_prompt(recipe_or_none, prompt)
        files = _files(recipe_or_none, path)
        return recipe_or_none, [text for file in files for text in read_texts(file)]
    if like is None:
        raise FamilyError(_unknown(name))
    if path.is_dir():
        raise FamilyError(f"{path}: give the file that holds the wording, not a folder")
    texts = read_texts(path)
    return generic.recipe_for(name, texts, prompt, catalog.load_family(like).file), texts


def _unknown(name: str) -> str:
    several = [known for known in KNOWN if known.startswith(f"{name}-")]
    if several:
        return f"'{name}' has several families; name one of them: {', '.join(several)}"
    near = difflib.get_close_matches(name, KNOWN, n=3)
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    return (
        f"no peer's family '{name}' is known; {hint}known: {', '.join(KNOWN)}. For a wording of "
        f"your own give --like FAMILY, a family whose replies look alike"
    )


def _check_prompt(recipe: Recipe, prompt: str | None) -> None:
    """Refuse the prompt of another family of the same peer: it is read by other rules."""
    for other in RECIPES.values():
        same_peer = (other.peer, other.files) == (recipe.peer, recipe.files)
        if same_peer and other.prompt == prompt != recipe.prompt:
            raise FamilyError(
                f"'{prompt}' is the prompt of '{other.family}', not of '{recipe.family}'; import "
                f"'{other.family}' (with --as for another name)"
            )


def _files(recipe: Recipe, path: Path) -> list[Path]:
    """Return the recipe's files at a path: the file itself, or found below the folder.

    A folder may be the top of the peer's repository or any folder inside that leads to the file.
    """
    if path.is_file():
        beside = [path.parent / Path(name).name for name in recipe.files[1:]]
        return [path, *(file for file in beside if file.is_file() and file != path)]
    found = []
    for name in recipe.files:
        parts = Path(name).parts
        tries = [path.joinpath(*parts[start:]) for start in range(len(parts))]
        file = next((file for file in tries if file.is_file()), None)
        if file is not None:
            found.append(file)
    if not found:
        raise FamilyError(
            f"{path}: {recipe.peer}'s {' and '.join(recipe.files)} is not there; give the folder "
            f"of its repository ({recipe.url}), or the file itself"
        )
    return found


def _configured(path: Path, prompt: str | None) -> Recipe:
    configurations = alpaca_eval.configurations(path)
    if not configurations:
        raise FamilyError(
            f"{path}: no configuration of AlpacaEval is there; give its repository, the folder "
            f"'evaluators_configs' or one folder inside that"
        )
    if prompt is None and len(configurations) == 1:
        prompt = next(iter(configurations))
    if prompt is None or prompt not in configurations:
        listed = list(configurations)
        more = f" and {len(listed) - _MOST_SHOWN} more" if len(listed) > _MOST_SHOWN else ""
        given = f"no configuration '{prompt}'" if prompt else f"{len(listed)} configurations"
        raise FamilyError(
            f"{path}: {given}; choose one with --prompt: {', '.join(listed[:_MOST_SHOWN])}{more}"
        )
    return alpaca_eval.recipe_of(configurations[prompt])


def _expression(ours: str) -> Expression:
    if ours.partition("_")[0] not in {name.partition("_")[0] for name in VARIABLES}:
        raise FamilyError(f"'{ours}' is no variable of templates; there are {', '.join(VARIABLES)}")
    return Expression(ours)


def _check_name(name: str, recipe: str) -> None:
    """Refuse the names of the package's own families, but for the peer's that is imported."""
    if name in catalog.bundled_names() and name != recipe:
        raise FamilyError(
            f"'{name}' is a family of the package; store the imported one under another name "
            f"with --as"
        )


def _store(made: Draft, name: str) -> tuple[TextFamily, Path, bool]:
    """Write the folder beside its place, check it there, and move it in one step."""
    home = catalog.home_folder()
    target = home / "families" / name
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".import-", dir=home) as waiting:
            folder = Path(waiting) / "family"
            folder.mkdir()
            _write(folder / FAMILY_FILE, toml.dumps(made.family))
            for file, text in made.templates.items():
                _write(folder / file, text)
            family = TextFamily.from_folder(folder)
            replaced = target.exists()
            old = Path(waiting) / "old"
            if replaced:
                _check_replaceable(target)
                target.replace(old)
            try:
                folder.replace(target)
            except OSError:
                if replaced:
                    old.replace(target)
                raise
    except OSError as error:
        raise FamilyError(
            f"{error.filename or target}: the family cannot be stored ({error.strerror})"
        ) from error
    return family, target, replaced


def _write(file: Path, text: str) -> None:
    try:
        file.write_bytes(text.encode())
    except UnicodeEncodeError as error:
        raise FamilyError(f"the wording holds a character that no file can: {error}") from error


def _check_replaceable(target: Path) -> None:
    """Refuse to replace a folder that no import made."""
    if not catalog.is_imported(target):
        raise FamilyError(
            f"{target}: there is a family of your own, not an imported one; choose another name "
            f"with --as, or remove the folder"
        )
