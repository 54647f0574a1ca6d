"""Several processes: a training starts itself again through accelerate."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from magistrate.errors import InputError, MissingExtraError

_LAUNCHED = "MAGISTRATE_LAUNCHED"
"""Set for the processes that :func:`launch` starts, so that they do not start others."""


def is_launched() -> bool:
    """Whether this process is one that accelerate or torchrun started."""
    return _LAUNCHED in os.environ or "LOCAL_RANK" in os.environ


def launch(configuration: str, arguments: Sequence[str]) -> int:
    """Run ``magistrate`` with the same arguments in as many processes as a configuration says.

    Args:
        configuration: A configuration file of accelerate, as ``accelerate config`` writes it.
        arguments: What stands behind ``magistrate`` on the command line.

    Returns:
        The exit code.

    Raises:
        InputError: There is no such file.
        MissingExtraError: accelerate is not installed.
    """
    from importlib.util import find_spec

    if not Path(configuration).is_file():
        raise InputError(
            f"run.accelerate: there is no file {configuration}; 'accelerate config' writes one, "
            f"and recipes/train has some"
        )
    if find_spec("accelerate") is None:
        raise MissingExtraError("run.accelerate", "train", "accelerate")
    command = [sys.executable, "-m", "accelerate.commands.launch", "--config_file", configuration]
    command += ["--module", "magistrate", *arguments]
    own = {**os.environ, _LAUNCHED: "1"}
    with subprocess.Popen(command, env=own) as process:  # noqa: S603  # ourselves
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                # The processes got it too; they save and end by themselves.
                continue
