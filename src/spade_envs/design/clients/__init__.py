"""Language models that design, act, hint and audit, one module per way to reach one."""

from spade_envs.design.clients.base import (
    CompletionRequest,
    Policy,
    SerialPolicy,
    complete_all,
)
from spade_envs.design.clients.registry import open_policy

__all__ = ["CompletionRequest", "Policy", "SerialPolicy", "complete_all", "open_policy"]
