"""Move damaged lines of a run out of the way, to be judged anew."""

from __future__ import annotations

from pathlib import Path

from magistrate.store.disk import NewFile, flush_to_disk, writing
from magistrate.store.index import is_torn, judgment_of, read_index
from magistrate.store.lines import iterate_lines
from magistrate.store.lock import RunLock
from magistrate.store.manifest import bring_up_to_date, write_manifest
from magistrate.store.run import open_run
from magistrate.store.seal import with_repair


def repair_run(path: str | Path) -> int:
    """Move damaged lines from ``judgments.jsonl`` to ``judgments.damaged.jsonl``.

    What they held is judged anew by the next resume. Whole lines are kept as they are.

    Returns:
        The number of lines moved.

    Raises:
        RunError: The folder is not a run, or cannot be written.
        RunLockedError: A process is writing to the run.
    """
    run = open_run(path)
    folder = run.folder
    with RunLock(folder.path):
        damaged = [line for _, _, line in iterate_lines(folder.judgments) if not _is_whole(line)]
        if not damaged:
            return 0
        with writing(folder.damaged), folder.damaged.open("ab") as file:
            file.writelines(line if line.endswith(b"\n") else line + b"\n" for line in damaged)
            flush_to_disk(file.fileno())
        with NewFile(folder.judgments) as file:
            for _, _, line in iterate_lines(folder.judgments):
                if _is_whole(line):
                    file.write(line)
            file.put_in_place()
        index = read_index(folder.judgments)
        manifest = with_repair(run.manifest)
        write_manifest(folder.manifest, bring_up_to_date(manifest, index, "stopped"))
    return len(damaged)


def _is_whole(line: bytes) -> bool:
    if is_torn(line):
        return False
    try:
        judgment_of(line)
    except ValueError:
        return False
    return True
