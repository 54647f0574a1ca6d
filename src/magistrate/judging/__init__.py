"""Samples to judgments: orders, merging, judges by name. Never touches a run folder."""
