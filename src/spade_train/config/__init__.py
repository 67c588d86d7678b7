"""One typed configuration of a training run: sections, presets, overlays, overrides, TOML."""

from spade_train.config.config import Config
from spade_train.config.layers import Layer, overlays, presets
from spade_train.config.resolve import changed_keys, read_config, resolve
from spade_train.config.toml import to_toml

__all__ = [
    "Config",
    "Layer",
    "changed_keys",
    "overlays",
    "presets",
    "read_config",
    "resolve",
    "to_toml",
]
