"""The report: one page with plots and the numbers behind them, or the same tables as files."""
