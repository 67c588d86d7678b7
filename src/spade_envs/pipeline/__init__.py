"""From documents to certified environments: draw, brief, complete, parse, check, publish."""

from spade_envs.pipeline.budget import Budget
from spade_envs.pipeline.generate import generate
from spade_envs.pipeline.plan import Plan
from spade_envs.pipeline.run import Progress
from spade_envs.pipeline.summary import Summary, runs_of, summarise

__all__ = ["Budget", "Plan", "Progress", "Summary", "generate", "runs_of", "summarise"]
