"""Keeps what the model libraries show off the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_bars() -> Iterator[None]:
    """Hide the progress bars of transformers, for as long as the block lasts."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
