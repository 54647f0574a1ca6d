"""Other tools' own rules, each under its own name; see :mod:`magistrate.metrics.rules.table`."""
