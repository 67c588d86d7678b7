"""The sound environments that defects are planted in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from benchmarks.defects.body import Body

Kind = Literal["text", "tool", "published", "published-tool"]

HERE = Path(__file__).parent
STARTERS = HERE.parents[1] / "envstore" / "envs"


@dataclass(frozen=True)
class Sound:
    """One environment that passes every gate."""

    name: str
    code: str

    @cached_property
    def kind(self) -> Kind:
        """Which of the four shapes it has."""
        body = Body(self.code)
        bases = {getattr(base, "id", "") for base in body.cls.bases}
        if "ToolUseBaseEnv" in bases:
            return "published-tool"
        if "ToolEnv" in bases:
            return "tool"
        return "text" if "TextEnv" in bases else "published"


def load_sound() -> tuple[Sound, ...]:
    """Return the starter environments and those in `sound/`, in the order of their names."""
    files = {path.parts[-3]: path for path in STARTERS.glob("*/v0/env.py")}
    files |= {path.stem.replace("_", "-"): path for path in (HERE / "sound").glob("*.py")}
    return tuple(
        Sound(name, files[name].read_text(encoding="utf-8"))
        for name in sorted(files)
        if name != "--init--"
    )
