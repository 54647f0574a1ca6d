"""Files found in the wild to and from records."""
