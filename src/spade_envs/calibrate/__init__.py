"""What environments are worth to an agent: measured by plays, and pools chosen by it."""

from spade_envs.calibrate.players import ModelPlayer, Player, Seen, scripted
from spade_envs.calibrate.pool import Bounds, Choice, Criteria, select
from spade_envs.calibrate.run import Calibration, Pair, Settings, Target

__all__ = [
    "Bounds",
    "Calibration",
    "Choice",
    "Criteria",
    "ModelPlayer",
    "Pair",
    "Player",
    "Seen",
    "Settings",
    "Target",
    "scripted",
    "select",
]
