"""Write samples to the formats of other tools, and to our own."""

from __future__ import annotations

from magistrate.formats.writers.base import Skipped, WriteReport
from magistrate.formats.writers.write import target_for, targets, write_samples

__all__ = ["Skipped", "WriteReport", "target_for", "targets", "write_samples"]
