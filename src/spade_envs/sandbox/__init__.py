"""Untrusted code runs here and nowhere else: locked worker processes behind a typed protocol."""

from spade_envs.sandbox.layers import LayerStatus
from spade_envs.sandbox.libraries import library_in, sandbox_for
from spade_envs.sandbox.pool import Sandbox, active_layers, default_sandbox, open_sandbox
from spade_envs.sandbox.worker_handle import Worker

__all__ = [
    "LayerStatus",
    "Sandbox",
    "Worker",
    "active_layers",
    "default_sandbox",
    "library_in",
    "open_sandbox",
    "sandbox_for",
]
