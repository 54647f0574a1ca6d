"""Ranking models by who beats whom."""
