"""Where a file is from: project, commit, hash, licence; read from the files around it.

Nothing is asked of the network and no other program is run.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from magistrate.prompts.importing.licences import licence_of, licence_of_package

_MOST_PARENTS = 12
_REMOTE = re.compile(r'^\[remote "([^"\n]+)"\]\s*$(.*?)(?=^\[|\Z)', re.MULTILINE | re.DOTALL)
_URL = re.compile(r"^\s*url\s*=\s*(\S+)", re.MULTILINE)
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SSH = re.compile(r"(?:ssh://)?[\w.-]+@([\w.-]+)[:/](.+)")
_PROJECT_URL = re.compile(
    r"^(?:Home-page|Project-URL): (?:[^,\n]*, )?(https?://\S+)$", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Origin:
    """What is known of where a text came from."""

    file: str
    """Path inside the project, with forward slashes."""
    sha256: str
    """Of the file's bytes, in hexadecimal digits."""
    url: str | None = None
    """Address of the project."""
    package: str | None = None
    """Name and version, where the file is of an installed package."""
    commit: str | None = None
    licence: str | None = None
    """Name of the licence; None where none was found or recognised."""
    licence_note: str = ""
    """How the licence was found, or why it is not known."""


def origin_of(file: Path, given: Path) -> Origin:
    """Return where a file is from.

    Args:
        file: The file that was read.
        given: The file or folder that the user named; the search for a licence ends there, or at
            the top of the git clone that holds the file.
    """
    file = file.resolve()
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    clone = _clone(file)
    if clone is not None:
        licence, note = licence_of(file, clone)
        return Origin(
            file=file.relative_to(clone).as_posix(),
            sha256=digest,
            url=_remote(clone),
            commit=_commit(clone),
            licence=licence,
            licence_note=note,
        )
    package = _package(file)
    if package is not None:
        info, root = package
        metadata = _read(info / "METADATA")
        licence, note = licence_of_package(info, metadata)
        return Origin(
            file=file.relative_to(root).as_posix(),
            sha256=digest,
            url=_url_of(metadata),
            package=_name_of(metadata),
            licence=licence,
            licence_note=note,
        )
    top = given.resolve()
    top = top if top.is_dir() else top.parent
    licence, note = licence_of(file, top)
    inside = file.relative_to(top) if file.is_relative_to(top) else Path(file.name)
    return Origin(file=inside.as_posix(), sha256=digest, licence=licence, licence_note=note)


def _parents(file: Path) -> Iterator[Path]:
    yield from list(file.parents)[:_MOST_PARENTS]


def _clone(file: Path) -> Path | None:
    """Return the top folder of the git clone that holds the file."""
    return next((folder for folder in _parents(file) if (folder / ".git").exists()), None)


def _git_folder(clone: Path) -> Path:
    """Return the clone's git folder; a linked work tree has a file that points to it."""
    pointer = clone / ".git"
    if pointer.is_file():
        target = _read(pointer).removeprefix("gitdir:").strip()
        return (clone / target).resolve() if target else pointer
    return pointer


def _commit(clone: Path) -> str | None:
    """Return the commit that is checked out."""
    git = _git_folder(clone)
    head = _read(git / "HEAD").strip()
    if not head.startswith("ref:"):
        return head if _COMMIT.fullmatch(head) else None
    name = head.removeprefix("ref:").strip()
    common = _read(git / "commondir").strip()
    for folder in (git, git / common) if common else (git,):
        if ".." not in name and _COMMIT.fullmatch(found := _read(folder / name).strip()):
            return found
        for line in _read(folder / "packed-refs").splitlines():
            commit, _, ref = line.partition(" ")
            if ref == name and _COMMIT.fullmatch(commit):
                return commit
    return None


def _remote(clone: Path) -> str | None:
    """Return the address that the clone was made from, without user name or password."""
    git = _git_folder(clone)
    common = _read(git / "commondir").strip()
    config = _read(git / common / "config") if common else _read(git / "config")
    remotes = {m[1]: url[1] for m in _REMOTE.finditer(config) if (url := _URL.search(m[2]))}
    address: str | None = remotes.get("origin") or next(iter(remotes.values()), None)
    return None if address is None else public_address(address)


def public_address(url: str) -> str | None:
    """Return an address anybody can open; None for a place on this machine.

    >>> public_address("git@github.com:some/project.git")
    'https://github.com/some/project'
    >>> public_address("https://me:secret@github.com/some/project")
    'https://github.com/some/project'
    >>> public_address("/home/me/project") is None
    True
    """
    url = url.removesuffix("/").removesuffix(".git")
    if "://" not in url or url.startswith("ssh://"):
        ssh = _SSH.fullmatch(url)
        return f"https://{ssh[1]}/{ssh[2]}" if ssh else None
    scheme, _, rest = url.partition("://")
    if scheme not in ("http", "https", "git"):
        return None
    host, slash, path = rest.partition("/")
    return f"https://{host.rpartition('@')[2]}{slash}{path}"


def _package(file: Path) -> tuple[Path, Path] | None:
    """Return the record folder of the installed package that holds the file, and its root."""
    for root in _parents(file):
        for info in sorted(root.glob("*.dist-info")):
            inside = file.relative_to(root).as_posix()
            record = _read(info / "RECORD")
            if any(line.startswith((f"{inside},", f'"{inside}",')) for line in record.splitlines()):
                return info, root
    return None


def _url_of(metadata: str) -> str | None:
    found = _PROJECT_URL.search(metadata)
    return public_address(found[1]) if found else None


def _name_of(metadata: str) -> str | None:
    found = (re.search(rf"^{key}: (.+)$", metadata, re.MULTILINE) for key in ("Name", "Version"))
    return " ".join(each[1].strip() for each in found if each) or None


def _read(file: Path) -> str:
    """Return a small text file; empty where there is none."""
    try:
        return file.read_text("utf-8", errors="replace")
    except OSError:
        return ""
