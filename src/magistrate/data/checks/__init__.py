"""What may be wrong with labelled data: duplicates, leaks, imbalances, missing labels."""
