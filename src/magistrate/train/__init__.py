"""Trainings of judges: from labelled samples to a judge folder (``docs/training.md``).

=================  ================================================================
module             what it does
=================  ================================================================
``recipe``         the recipe of a training
``head``           what every head can do; which heads there are
``generate``       the head that writes
=================  ================================================================
"""
