"""Benchmarks during a run: a cheap subset, by the same code that `spade-train eval` runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from spade_envs.design.clients import Policy
from spade_train.config import Config
from spade_train.evaluate.players import PolicyPlayer
from spade_train.evaluate.run import Evaluation, Plan
from spade_train.evaluate.summary import summarize
from spade_train.suites.base import Suite
from spade_train.suites.registry import open_spec


class Exams:
    """The benchmarks of `evaluation.suites`; each is opened once and its first tasks are played.

    Every process plays all of it, as engines that share a model's parts must.

    Args:
        config: of the run; nothing is opened if it names no benchmark.
        policy: answers with the weights as they are.

    Raises:
        ConfigError: a benchmark is not there; the message tells what to do.
        SuiteError: its process cannot be started.
    """

    def __init__(self, config: Config, policy: Policy) -> None:
        self._settings, self._player = config.evaluation, PolicyPlayer(policy)
        self._max_tokens = config.agent.sampling.max_tokens
        self._suites: list[Suite] = []
        try:
            for spec in self._settings.suites:
                self._suites.append(open_spec(spec))
        except BaseException:
            self.close()
            raise

    def __call__(self, update: int) -> Mapping[str, float]:
        """Return success by benchmark and by its groups; the same tasks and draws every time.

        Raises:
            EngineError: the engine cannot answer.
            SuiteError: a benchmark's process cannot be kept running.
        """
        found: dict[str, float] = {}
        for key, suite in zip(self._keys(), self._suites, strict=True):
            decoding = suite.decoding
            decoding = replace(
                decoding,
                samples=1,
                temperature=0.0 if self._settings.greedy else decoding.temperature,
                max_tokens=min(decoding.max_tokens, self._max_tokens),
            )
            plan = Plan(
                decoding=decoding, limit=self._settings.suite_tasks, seed=self._settings.seed
            )
            evaluation = Evaluation(suite, self._player, plan)
            for _ in evaluation.run():
                pass
            summary = summarize(evaluation.header, evaluation.records())
            figures = {key: summary.overall}
            if len(summary.groups) > 1:
                figures |= {
                    f"{key}/{metric_name(group)}": each for group, each in summary.groups.items()
                }
            found |= {k: each.success for k, each in figures.items() if each.success is not None}
            if summary.overall.faults:
                found[f"{key}/faults"] = float(summary.overall.faults)
        return found

    def _keys(self) -> list[str]:
        """Return one name per benchmark: a second one of the same name is told apart by `-2`."""
        names = [suite.name for suite in self._suites]
        seen = [names[:place].count(name) for place, name in enumerate(names)]
        return [
            f"eval/suite/{name}-{before + 1}" if before else f"eval/suite/{name}"
            for name, before in zip(names, seen, strict=True)
        ]

    def close(self) -> None:
        """Close the benchmarks."""
        for suite in self._suites:
            suite.close()


def metric_name(group: str) -> str:
    """Return a group's name as a metric bears it: `Level 0` is `level-0`."""
    return re.sub(r"[^a-z0-9_.]+", "-", group.lower()).strip("-.") or "other"
