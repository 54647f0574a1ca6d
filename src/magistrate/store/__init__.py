"""The run folder: append, resume, verify."""
