"""Strategy hints: a model writes one, the gates on hints judge it, and it may try again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from spade_envs.design.brief import derive_seed
from spade_envs.design.clients import Policy
from spade_envs.design.strategy import NoHint, prompt_id, read_strategy, strategy_prompt
from spade_envs.gates import GATES_VERSION
from spade_envs.gates.written import check_hints
from spade_envs.store.strategies import Strategy
from spade_envs.types import EnvSource, GateResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """One hint that a model wrote, and what became of it."""

    text: str
    results: tuple[GateResult, ...] = ()
    """What the gates said; empty if the answer is no hint."""
    reason: str = ""
    """Why it is refused; empty if it is not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a model came to."""

    strategy: Strategy | None
    """None if every try was refused."""
    tries: tuple[Try, ...]


def write_strategy(
    policy: Policy,
    digest: str,
    source: EnvSource,
    *,
    tries: int = 3,
    seed: int = 0,
    temperature: float = 0.7,
    max_tokens: int = 2048,
    check: Callable[[EnvSource, str], tuple[GateResult, ...]] | None = None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Written:
    """Let a model write the strategy hint of an environment until the gates pass one.

    A refused hint goes back with what was wrong with it. A gate that could not be measured
    refuses, too.

    Args:
        policy: writes.
        digest: of the environment.
        source: its source; it passed its gates.
        tries: hints at most, >= 1.
        seed: of the sampling.
        temperature: of the sampling, >= 0.
        max_tokens: of one answer, thinking included.
        check: judges a hint; the gates on hints if None.
        now: gives the time that is noted.

    Raises:
        ClientError: the model gives no answer.
        IsolationUnavailable: no sandbox can be started here.
    """
    judge = check or (lambda source, text: check_hints(source, lambda level, seed: text))
    done: list[Try] = []
    tried, why = "", list[GateResult | NoHint]()
    for number in range(tries):
        answer = policy.complete(
            strategy_prompt(source, tried=tried, why=why),
            seed=derive_seed("strategy", seed, digest, number),
            max_tokens=max_tokens,
            temperature=temperature,
        )
        text = read_strategy(answer)
        if isinstance(text, NoHint):
            done.append(Try(text=answer.text, reason=text.reason))
            tried, why = "", [text]
            continue
        results = judge(source, text)
        bad = [result for result in results if result.outcome not in ("pass", "warn")]
        done.append(Try(text=text, results=results, reason="; ".join(r.message for r in bad)))
        if not bad:
            strategy = _strategy(policy.name, digest, text, results, now())
            return Written(strategy=strategy, tries=tuple(done))
        tried, why = text, list(bad)
    return Written(strategy=None, tries=tuple(done))


def _strategy(
    model: str, digest: str, text: str, results: tuple[GateResult, ...], at: datetime
) -> Strategy:
    return Strategy(
        digest=digest,
        text=text,
        model=model[:300],
        prompt=prompt_id(),
        gates_version=GATES_VERSION,
        verdicts={r.gate: "warn" if r.outcome == "warn" else "pass" for r in results},
        written_at=at.strftime("%Y-%m-%dT%H:%M:%SZ"),
    )
