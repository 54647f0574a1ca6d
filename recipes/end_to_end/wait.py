"""Wait until a server on this machine answers; say so if its process ends first.

Run it: ``python wait.py --port 18080 --process 1234``
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import urllib.error
import urllib.request

SECONDS = 300.0
SECONDS_BETWEEN_LOOKS = 0.5


def main() -> None:
    """Exit with 0 when it answers, with 1 when it never will."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--process", type=int, required=True)
    given = parser.parse_args()
    until = time.monotonic() + SECONDS
    while not answers(given.port):
        if not runs(given.process) or time.monotonic() > until:
            sys.exit(f"no server answers at port {given.port}; its log says why")
        time.sleep(SECONDS_BETWEEN_LOOKS)


def answers(port: int) -> bool:
    """Whether there is a server that can list its models."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=30) as found:
            return bool(found.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def runs(process: int) -> bool:
    """Whether a process is there."""
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    main()
