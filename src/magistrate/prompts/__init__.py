"""Judge families: templates, verdict parsers, and their catalog."""
