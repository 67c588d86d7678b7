"""The one trainer. Only this package touches TRL, and of it only `grpo`."""

from spade_train.trainer.policy import load_checkpoint, load_policy
from spade_train.trainer.world import Processes, open_world

__all__ = ["Processes", "load_checkpoint", "load_policy", "open_world"]
