"""Families of environments that the program generator knows, by skill."""

from spade_train.nano.families.chains import CHAINS
from spade_train.nano.families.form import Draw, Family, Theme
from spade_train.nano.families.hard import HARD
from spade_train.nano.families.rows import ROWS
from spade_train.nano.families.tools_read import TOOLS_READ
from spade_train.nano.families.tools_write import TOOLS_WRITE
from spade_train.nano.families.turns import TURNS

FAMILIES: tuple[Family, ...] = (*CHAINS, *ROWS, *TURNS, *HARD, *TOOLS_READ, *TOOLS_WRITE)
PLAYED = tuple(family for family in FAMILIES if family.least)
"""Families that the tiny agent can learn to play."""

__all__ = ["FAMILIES", "PLAYED", "Draw", "Family", "Theme"]
