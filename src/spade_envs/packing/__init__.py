"""Envstores as other things: installable packages, dataset cards, pools (docs/packing.md)."""

from spade_envs.packing.card import CARD_MARK, Sheet, render_card, sheet_of
from spade_envs.packing.chosen import Chosen, choose, read_all
from spade_envs.packing.package import PackName, pack
from spade_envs.packing.pool import export_pool

__all__ = [
    "CARD_MARK",
    "Chosen",
    "PackName",
    "Sheet",
    "choose",
    "export_pool",
    "pack",
    "read_all",
    "render_card",
    "sheet_of",
]
