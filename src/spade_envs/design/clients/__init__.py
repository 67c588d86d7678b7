"""Language models that write environments, one module per way to reach one."""

from spade_envs.design.clients.base import (
    CompletionRequest,
    Designer,
    SerialDesigner,
    complete_all,
)
from spade_envs.design.clients.registry import open_designer

__all__ = ["CompletionRequest", "Designer", "SerialDesigner", "complete_all", "open_designer"]
