"""Fixtures that all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[1]


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
