"""The loop: from briefs and pools over episodes to the rows that one update trains on."""

from spade_train.loop.held import HeldEnv, HeldOut
from spade_train.loop.loop import Loop
from spade_train.loop.ports import Rollouts, Shelf, Spans
from spade_train.loop.state import LiveEnv, LoopState

__all__ = ["HeldEnv", "HeldOut", "LiveEnv", "Loop", "LoopState", "Rollouts", "Shelf", "Spans"]
