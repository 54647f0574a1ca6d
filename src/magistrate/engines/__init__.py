"""Engines run models: requests in, completions out. They know nothing of judging."""
