"""Language models that design, act, hint and audit, one module per way to reach one."""

from spade_envs.design.clients.base import (
    CompletionRequest,
    ConcurrentPolicy,
    Policy,
    SerialPolicy,
    complete_all,
)
from spade_envs.design.clients.registry import is_spec, open_policy
from spade_envs.design.clients.thinking import split_thinking
from spade_envs.design.clients.usage import Price, Usage, usage_of

__all__ = [
    "CompletionRequest",
    "ConcurrentPolicy",
    "Policy",
    "Price",
    "SerialPolicy",
    "Usage",
    "complete_all",
    "is_spec",
    "open_policy",
    "split_thinking",
    "usage_of",
]
