"""Gymnasium environments written by language models, admitted by executed gates."""

from __future__ import annotations

from spade_envs._version import __version__

__all__ = ["__version__"]
