"""vLLM with a real model for tests; skips where vLLM is not installed."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import hf_real
import pytest

START_SECONDS = 900
"""A busy machine needs minutes for what a quiet one does in half of one."""

CONTEXT = 1024
CACHE_GIB = 1
NO_VLLM = "vLLM is not installed; 'make test-vllm' sets up an environment with it"


def model_folder() -> Path:
    """Return a model that vLLM can run, or skip the test."""
    if find_spec("vllm") is None:
        pytest.skip(NO_VLLM)
    return hf_real.model_folder()


def command(module: str, *arguments: str) -> list[str]:
    """Return a call of one of vLLM's modules; ``vllm`` itself fails in its build for processors,
    where it asks for the version of a package named ``vllm``."""
    return [sys.executable, "-m", f"vllm.entrypoints.openai.{module}", *arguments]


SERVED = [
    *("--dtype", "float32", "--max-model-len", str(CONTEXT), "--enforce-eager"),
    *("--kv-cache-memory-bytes", str(CACHE_GIB << 30), "--block-size", "32"),
]


@contextmanager
def serving(model: Path, log: Path) -> Iterator[str]:
    """Serve a model on the loopback under the name ``judge``; yield where its API begins."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    call = command(
        *("api_server", "--model", str(model), "--host", "127.0.0.1", "--port", str(port)),
        *("--served-model-name", "judge", *SERVED),
    )
    with log.open("wb") as out:
        server = subprocess.Popen(call, stdout=out, stderr=out)
    try:
        _wait(server, f"http://127.0.0.1:{port}/health", log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        try:
            server.wait(60)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _wait(server: subprocess.Popen[bytes], url: str, log: Path) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        if server.poll() is not None:
            break
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(1)
    pytest.fail(f"the server of vLLM did not start: {log.read_text('utf-8', 'replace')[-4000:]}")


def run(*args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the ``magistrate`` command."""
    return subprocess.run(
        [sys.executable, "-m", "magistrate", *args],
        capture_output=True,
        text=True,
        timeout=START_SECONDS,
        env={**os.environ, **environment},
        check=False,
    )
