"""The four studies of a judge (arXiv 2403.02839) over whatever data the user has."""
