"""Results as tables on the terminal and as JSON."""
