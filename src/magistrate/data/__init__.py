"""Build judge data: questions, answers, pairs, references, labels, checks, splits and cards."""
