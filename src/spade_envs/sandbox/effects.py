"""Placeholder."""


def remember() -> None:
    """Remember."""
