"""Families of environments that the program generator knows, by skill."""

from spade_train.nano.families.causal import CAUSAL
from spade_train.nano.families.form import Draw, Family, Theme
from spade_train.nano.families.logic import LOGIC
from spade_train.nano.families.numbers import NUMBERS
from spade_train.nano.families.optimum import OPTIMUM
from spade_train.nano.families.patterns import PATTERNS
from spade_train.nano.families.space import SPACE
from spade_train.nano.families.tools_read import TOOLS_READ
from spade_train.nano.families.tools_write import TOOLS_WRITE
from spade_train.nano.families.turns import TURNS

FAMILIES: tuple[Family, ...] = (
    *NUMBERS,
    *PATTERNS,
    *LOGIC,
    *SPACE,
    *OPTIMUM,
    *CAUSAL,
    *TURNS,
    *TOOLS_READ,
    *TOOLS_WRITE,
)

__all__ = ["FAMILIES", "Draw", "Family", "Theme"]
