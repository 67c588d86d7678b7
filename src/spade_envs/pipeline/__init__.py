"""From documents to certified environments: draw, brief, complete, parse, check, publish."""

from spade_envs.pipeline.budget import Budget
from spade_envs.pipeline.generate import generate
from spade_envs.pipeline.plan import Plan
from spade_envs.pipeline.run import Progress

__all__ = ["Budget", "Plan", "Progress", "generate"]
