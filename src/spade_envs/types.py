"""The values that flow through spade_envs, in the order in which they appear.

    Passage -> Brief -> Completion -> EnvSource -> Report -> Record -> Episode

All are frozen. A failure at a stage border is one of these values too: `Rejection`, a failed
`GateResult`, or an `Episode` (or step) that carries a `Fault`. None of them points forward.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from spade_envs.errors import ConfigError

Json: TypeAlias = Any
"""A value that `json.dumps` accepts; typed loosely because JSON is recursive."""


class Skill(StrEnum):
    """What an environment exercises: six cognitive skills, then six tool-use skills."""

    MATHEMATICAL_REASONING = "mathematical-reasoning"
    LOGICAL_DEDUCTION = "logical-deduction"
    SPATIAL_REASONING = "spatial-reasoning"
    PATTERN_RECOGNITION = "pattern-recognition"
    OPTIMIZATION = "optimization"
    CAUSAL_INFERENCE = "causal-inference"
    API_ORCHESTRATION = "api-orchestration"
    DATA_RETRIEVAL = "data-retrieval"
    STATE_MODIFICATION = "state-modification"
    ERROR_RECOVERY = "error-recovery"
    TOOL_SELECTION = "tool-selection"
    MULTI_STEP_WORKFLOWS = "multi-step-workflows"


COGNITIVE_SKILLS: tuple[Skill, ...] = tuple(Skill)[:6]
TOOL_SKILLS: tuple[Skill, ...] = tuple(Skill)[6:]

EnvKind: TypeAlias = Literal["text", "tool"]

Mode: TypeAlias = Literal[
    "game",
    "reasoning",
    "tool",
    "adversarial",
    "long-horizon",
    "mutate",
    "harden",
    "ease",
    "cross",
]
"""What sort of design is asked for; from `mutate` on, one that is made of stored parents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A piece of a document, drawn from a corpus, with where it came from."""

    text: str
    title: str
    corpus: str
    """Name of the corpus, such as `pydoc` or a folder's name."""
    source: str
    """Document within the corpus: relative path, record key or topic."""
    offset: int = 0
    """Start of the passage in the document, in characters."""
    licence: str = "unknown"
    """SPDX identifier of the document's licence, or `unknown`."""
    metadata: Mapping[str, Json] = field(default_factory=dict)

    @property
    def sha256(self) -> str:
        """Hexadecimal sha256 of the text in UTF-8."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Parent:
    """An environment that a new one is to be made of."""

    code: str
    facts: tuple[str, ...] = ()
    """One line each: how it was played, what the gates measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """What the designer is asked for: everything that goes into its prompt."""

    passage: Passage | None
    skill: Skill
    kind: EnvKind
    challenge: Literal["easy", "medium", "hard"] = "medium"
    examples: tuple[str, ...] = ()
    """Sources of good earlier environments, drawn from memory."""
    avoid: tuple[str, ...] = ()
    """One-line descriptions of what not to write again."""
    seed: int = 0
    mode: Mode = "game"
    """`game` asks for what is usual for the kind: a game, or tools to serve a user with."""
    parents: tuple[Parent, ...] = ()
    """One for `mutate`, `harden` and `ease`, two for `cross`, none otherwise."""
    domain: str = ""
    """Where tools are used, such as `banking`; empty leaves it to the designer."""
    task: str = ""
    """What is particular about the user's wishes, such as `missing-value`."""


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What a language model answered, verbatim."""

    text: str
    model: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    """Tokens written, thinking included."""
    finish_reason: str | None = None
    """`stop`, or `length` if it was cut off; None if unknown."""
    thinking: str = ""
    """What the model thought before its answer, where that came apart from the text."""
    thinking_tokens: int | None = None
    """Those of `completion_tokens` that are thinking, where the server counts them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvSource:
    """Source code of one environment: one UTF-8 Python file with LF line ends."""

    code: str
    origin: str = "<memory>"
    """Where it came from, for messages only."""
    repairs: tuple[str, ...] = ()
    """What the parser changed to make it readable, one sentence each."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "code", self.code.replace("\r\n", "\n").replace("\r", "\n"))

    @property
    def sha256(self) -> str:
        """Hexadecimal sha256 of the code in UTF-8."""
        return hashlib.sha256(self.code.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """What the loaded code declares about itself; part of an environment's identity."""

    entry: str
    """Name of the environment class."""
    kind: EnvKind
    api: str = "spade-1"
    """`spade-1`: the contract in `spade_envs.api`; `published-1`: the published SPADE shape."""
    levels: int = 1
    """Number of difficulty levels; a level is in [0, levels)."""
    max_turns: int = 16
    reward_range: tuple[float, float] = (0.0, 1.0)
    """Least and greatest return of one episode."""
    has_hint: bool = False
    has_solution: bool = False
    tools: tuple[Mapping[str, Json], ...] = ()
    """OpenAI function schemas; empty for a text environment."""
    summary: str = ""
    """First line of the class docstring."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Resources that one sandboxed worker may use; the host enforces the timeouts."""

    load_timeout_s: float = 5.0
    reset_timeout_s: float = 5.0
    step_timeout_s: float = 2.0
    memory_mb: int = 512
    cpu_s: int = 3600
    """CPU seconds over the whole life of the worker."""
    max_observation_chars: int = 100_000
    max_info_bytes: int = 65_536
    max_action_chars: int = 200_000
    """Longer actions are refused by the host, before the worker sees them."""

    @classmethod
    def from_mapping(cls, values: Mapping[str, Json]) -> Limits:
        """Return limits with the given values, the defaults for the rest.

        Raises:
            ConfigError: a key is unknown, or a value is not a positive number.
        """
        known: dict[str, Any] = {entry.name: entry.default for entry in fields(cls)}
        for key, value in values.items():
            if key not in known:
                raise ConfigError(f"unknown limit {key!r}; known: {', '.join(known)}")
            if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
                raise ConfigError(f"limit {key} must be a positive number, not {value!r}")
        return cls(**{key: type(known[key])(value) for key, value in values.items()})


FaultKind: TypeAlias = Literal["timeout", "exception", "crash", "memory", "protocol", "contract"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """An environment that failed: never a reward, always typed."""

    kind: FaultKind
    op: Literal["load", "create", "reset", "step", "hint", "solution", "probe"]
    message: str
    """One line: exception type and text, or the limit that was broken."""
    traceback: str = ""
    """Lines of the environment's own file only; never shown to the agent."""

    def as_json(self) -> dict[str, Json]:
        """Return the fault as plain JSON (without the traceback)."""
        return {"kind": self.kind, "op": self.op, "message": self.message}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetOutcome:
    """First observation of an episode, or the fault that prevented it."""

    observation: str = ""
    info: Mapping[str, Json] = field(default_factory=dict)
    fault: Fault | None = None
    observation_cut: bool = False
    """True if the observation was longer than the limit and was cut."""


class StepOutcome(msgspec.Struct, frozen=True):
    """Result of one step. After a fault: reward 0.0, `truncated`, and `fault` set.

    A Struct, because one is made for every step: it costs a tenth of a frozen dataclass.
    """

    observation: str = ""
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    info: Mapping[str, Json] = msgspec.field(default_factory=dict)
    fault: Fault | None = None
    observation_cut: bool = False

    @property
    def done(self) -> bool:
        """Whether the episode has ended."""
        return self.terminated or self.truncated

    @property
    def won(self) -> bool:
        """Whether it says success: by `True` and nothing else, as the gates read it."""
        return self.fault is None and self.info.get("success") is True


@dataclass(frozen=True, slots=True)
class StepBatch:
    """Results of one step in each of several instances, as columns of equal length.

    Most steps bring a text and a number and nothing else; the others have a `StepOutcome`.
    """

    observations: list[str]
    rewards: list[float]
    marked: dict[int, StepOutcome]
    """By row: the outcomes that end an episode, carry an info, were cut, or failed."""

    def outcomes(self) -> list[StepOutcome]:
        """Return the rows as outcomes."""
        rows = list(map(StepOutcome, self.observations, self.rewards))
        for row, outcome in self.marked.items():
            rows[row] = outcome
        return rows


@dataclass(frozen=True, slots=True)
class Turn:
    """One action and what came back."""

    action: str
    observation: str
    reward: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One play of one instance, from reset to end."""

    env_id: str
    level: int
    seed: int
    first_observation: str
    turns: tuple[Turn, ...]
    total_reward: float
    """Sum of the step rewards (the undiscounted return)."""
    success: bool
    terminated: bool
    truncated: bool
    hinted: bool = False
    fault: Fault | None = None
    """Set if the environment failed; such an episode has no meaningful return."""


Outcome: TypeAlias = Literal["pass", "fail", "warn", "skip"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """Verdict of one gate, with its evidence."""

    gate: str
    """Stable id, such as `L3.4`."""
    title: str
    outcome: Outcome
    """`fail` refuses the environment, `warn` does not, `skip` could not be measured."""
    message: str
    """One line that says what was found and, on failure, how to mend it."""
    evidence: Mapping[str, Json] = field(default_factory=dict)
    """Seed, level, transcript, measured figures with intervals; plain JSON."""
    elapsed_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Every gate's verdict on one source; bound to its hash and to the gates' version."""

    source_sha256: str
    gates_version: str
    interface: Interface | None
    """None if the source could not be loaded."""
    results: tuple[GateResult, ...]
    layers: tuple[str, ...] = ()
    """Isolation layers that were active while the gates ran."""
    elapsed_s: float = 0.0
    complete: bool = True
    """False if cheap gates failed and the rest was not run, or only a part was asked for."""

    @property
    def accepted(self) -> bool:
        """Whether the environment may be certified: complete, and no gate failed."""
        return self.complete and not self.failures

    @property
    def failures(self) -> tuple[GateResult, ...]:
        """The failed gates, in the order in which they ran."""
        return tuple(result for result in self.results if result.outcome == "fail")

    @property
    def gravest(self) -> GateResult | None:
        """The failure to name first: the earliest one, but a missing reference after all others."""
        return next(iter(sorted(self.failures, key=_lacks_reference)), None)


def _lacks_reference(result: GateResult) -> bool:
    """Whether all that is wrong is a missing reference: the least of defects."""
    return result.gate == "L3.1" and result.message.startswith("no reference")


RejectionStage: TypeAlias = Literal["corpus", "client", "parse", "gates", "novelty"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """A design that did not become an environment, and why."""

    stage: RejectionStage
    reason: str
    """One line: gate id and message, or what the parser missed."""
    attempt: int
    """Number of the attempt in its run, counted from 0."""
    source: EnvSource | None = None
    report: Report | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One registered environment version, as read from an envstore's index."""

    id: str
    """`spade/<name>-v<N>`."""
    digest: str
    """`sha256:...` over files and interface; the environment's identity."""
    store: Path
    """Root of the store that holds it."""
    title: str
    summary: str
    kind: EnvKind
    levels: int
    max_turns: int
    skills: tuple[str, ...] = ()
    licence: str = "unknown"
    withdrawn: str | None = None
    """Reason, if the version was withdrawn."""
