"""From documents to certified environments: draw, brief, complete, parse, check, publish."""

from spade_envs.pipeline.generate import Progress, generate
from spade_envs.pipeline.plan import Plan

__all__ = ["Plan", "Progress", "generate"]
