"""Runs beside each other: the quickstart and comparisons at equal budget."""
