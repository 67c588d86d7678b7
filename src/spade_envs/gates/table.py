"""The gates in the order in which they run: cheap ones first."""

from __future__ import annotations

import time
from dataclasses import dataclass

from spade_envs._version import GATES_VERSION
from spade_envs.gates import (
    alternatives,
    binding,
    conduct,
    denial,
    determinism,
    distinct,
    farming,
    floors,
    hints,
    interface,
    leaks,
    near_miss,
    originality,
    override,
    reference,
    smells,
    static,
    tool_schemas,
    tools,
    values,
    wording,
    worth,
)
from spade_envs.gates.finding import Finding, GateFunction
from spade_envs.gates.subject import Subject
from spade_envs.types import GateResult

__all__ = ["GATES", "GATES_VERSION", "LIMITS_GATE", "Gate"]


@dataclass(frozen=True, slots=True)
class Gate:
    """One gate: `gate(subject)` gives its verdict."""

    id: str
    """Stable, such as `L3.4`; the part before the dot is the family."""
    title: str
    function: GateFunction

    stops: bool = True
    """Whether a failure leaves the later families out: their figures would mean nothing."""
    quick: bool = True
    """Whether a quick check runs it as well."""

    @property
    def family(self) -> str:
        """`L0` to `L5`."""
        return self.id.partition(".")[0]

    def __call__(self, subject: Subject) -> GateResult:
        """Judge the subject."""
        begun = time.perf_counter()
        finding = self.function(subject)
        return self.result(finding, time.perf_counter() - begun)

    def result(self, finding: Finding, elapsed_s: float = 0.0) -> GateResult:
        """Return a finding under this gate's name."""
        return GateResult(
            gate=self.id,
            title=self.title,
            outcome=finding.outcome,
            message=finding.message,
            evidence=finding.evidence,
            elapsed_s=round(elapsed_s, 4),
        )


GATES: tuple[Gate, ...] = (
    Gate("L0.1", "parses and loads one described environment", static.parses),
    Gate("L0.2", "does only what an environment may do", static.allowed_code),
    Gate("L0.3", "uses no process-wide randomness or clock", static.own_randomness),
    Gate("L1.2", "returns well-formed values", interface.well_formed),
    Gate(
        "L1.1", "passes Gymnasium's checker", interface.passes_check_env, stops=False, quick=False
    ),
    Gate("L1.3", "survives any text", interface.survives_any_text),
    Gate("L1.4", "always ends", interface.always_ends),
    Gate("L1.5", "refuses steps after the end", interface.steps_after_end),
    Gate("L1.6", "resets cleanly", conduct.clean_reset, quick=False),
    Gate("L1.7", "keeps to its limits", conduct.keeps_to_limits),
    Gate("L1.8", "has no side effects", conduct.no_side_effects, quick=False),
    Gate(
        "L1.9", "describes its tools truly", tool_schemas.tools_described, stops=False, quick=False
    ),
    Gate("L2.1", "is reproducible anywhere", determinism.reproducible),
    Gate("L2.2", "is not moved by neighbours", determinism.unmoved_by_neighbours),
    Gate("L2.3", "isolates episodes", determinism.isolated_episodes, quick=False),
    Gate("L2.4", "can be copied in mid-episode", determinism.copyable),
    Gate("L2.5", "gives different tasks", distinct.different_tasks, stops=False),
    Gate("L2.6", "uses its seed and level", distinct.seed_and_level_matter, stops=False),
    Gate("L3.1", "can be won by its reference", reference.reference_wins),
    Gate("L3.2", "is not won at reset", floors.goal_open_at_reset),
    Gate("L3.3", "pays ignorance little", floors.low_floor),
    Gate("L3.4", "has no best constant", binding.no_best_constant),
    Gate("L3.5", "binds answers to their task", binding.bound_to_its_seed, quick=False),
    Gate("L3.6", "does not pay near misses", near_miss.near_misses_lose, quick=False),
    Gate("L3.7", "does not pay denied answers", denial.denials_lose, quick=False),
    Gate("L3.8", "does not obey the agent", override.override_loses, quick=False),
    Gate("L3.9", "accepts harmless variants", reference.harmless_variants, quick=False),
    Gate("L3.10", "does not leak the answer", leaks.no_leak),
    Gate("L3.11", "states its format", wording.states_its_format, quick=False),
    Gate("L3.12", "cannot be farmed", farming.cannot_be_farmed, quick=False),
    Gate("L3.13", "has tools that work", tools.tools_work, quick=False),
    Gate(
        "L3.14",
        "keeps its tasks open until they are done",
        values.tasks_open_until_done,
        quick=False,
    ),
    Gate("L3.15", "lets every value be found", values.values_can_be_found, quick=False),
    Gate("L3.16", "leaves no trace of reading", tools.reading_changes_nothing, quick=False),
    Gate("L3.17", "accepts every right answer", alternatives.accepts_alternatives, quick=False),
    Gate("L0.4", "has no careless grader", smells.no_confirmed_smell, stops=False, quick=False),
    Gate("L4.1", "withholds the answer in its hint", hints.hint_withholds_answer),
    Gate("L4.2", "does not pay copying the hint", hints.hint_copy_earns_nothing, quick=False),
    Gate("L4.3", "has a hint that helps", worth.hint_helps, stops=False, quick=False),
    Gate("L4.4", "pays better play more", worth.difficulty_separates, quick=False),
    Gate("L5.1", "is no near duplicate", originality.not_a_duplicate, stops=False, quick=False),
    Gate(
        "L5.2", "holds no evaluation task", originality.not_contaminated, stops=False, quick=False
    ),
    Gate("L5.3", "has a certificate that holds", originality.certificate_holds, quick=False),
)
"""Every gate of this release, in running order."""

LIMITS_GATE = next(gate for gate in GATES if gate.id == "L1.7")
"""The gate that a broken time limit counts against, wherever it was broken."""
