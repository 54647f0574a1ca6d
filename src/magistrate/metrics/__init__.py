"""Pure functions over records and arrays: intervals, wins, agreement, baselines."""
