"""Whether an environment is new to a store, and how diverse a store is (docs/novelty.md)."""

from spade_envs.novelty.behaviour import behaviour, distance
from spade_envs.novelty.door import Door, Near, Verdict
from spade_envs.novelty.settings import OFF, Thresholds, parse_thresholds

__all__ = [
    "OFF",
    "Door",
    "Near",
    "Thresholds",
    "Verdict",
    "behaviour",
    "distance",
    "parse_thresholds",
]
