"""Fixtures that all tests share."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[1]


def pytest_configure() -> None:
    """Heed Ctrl-C: a shell that starts the tests in the background has them ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def home_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what commands store for their user (families, answers) out of the user's own home."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MAGISTRATE_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="session")
def repo() -> Path:
    """Return the root of the repository."""
    return REPO


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Return the folder of public data files; tests that need it are skipped where it is absent."""
    folder = Path(os.environ.get("MAGISTRATE_DATA", REPO / ".." / "shared" / "data")).resolve()
    if not folder.is_dir():
        pytest.skip(f"no public data at {folder}; set MAGISTRATE_DATA to its folder")
    return folder
