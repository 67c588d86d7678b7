"""Other people's environments: resolved to sources, checked by the same gates, brought in."""

from spade_envs.interop.bring import bring
from spade_envs.interop.resolve import resolve
from spade_envs.interop.run import Checked, check_all, check_target
from spade_envs.interop.target import Library, Target

__all__ = ["Checked", "Library", "Target", "bring", "check_all", "check_target", "resolve"]
