"""How good the tiny designer is: what share of its programs the gates accept, and how varied."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from spade_envs.design.novelty import ast_hash
from spade_envs.gates import check
from spade_envs.types import EnvSource, Report
from spade_train.nano.designer import NanoDesigner
from spade_train.nano.families import Draw
from spade_train.nano.programs import draw_condition, family_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What the gates said of a sample of programs."""

    reports: tuple[Report, ...]
    codes: tuple[str, ...]

    @property
    def accepted(self) -> tuple[str, ...]:
        """The programs that passed, in order."""
        pairs = zip(self.codes, self.reports, strict=True)
        return tuple(code for code, report in pairs if report.accepted)

    def as_json(self) -> dict[str, Any]:
        """Return the figures: counts, share accepted, families, first failed gates."""
        good = self.accepted
        gravest = (report.gravest for report in self.reports)
        failed = Counter(result.gate for result in gravest if result is not None)
        families = Counter(family_of(code) or "unknown" for code in good)
        return {
            "samples": len(self.codes),
            "accepted": len(good),
            "share": round(len(good) / max(1, len(self.codes)), 4),
            "families": dict(sorted(families.items())),
            "distinct": len({ast_hash(EnvSource(code=code)) for code in good}),
            "failed_gates": dict(sorted(failed.items())),
        }


def judge(
    designer: NanoDesigner,
    passages: list[str],
    *,
    samples: int,
    seed: int,
    temperature: float = 0.8,
) -> Judgement:
    """Let the designer write `samples` programs on conditions drawn from `seed`; run the gates."""
    conditions = [draw_condition(Draw(f"{seed}/judge/{i}"), passages) for i in range(samples)]
    codes = designer.programs(conditions, seed=seed, temperature=temperature)
    reports = tuple(check(EnvSource(code=code)) for code in codes)
    return Judgement(codes=tuple(codes), reports=reports)
