"""From episodes and designs to scores, advantages and the weights of the two roles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from spade_train.advantages import (
    Advantages,
    agent_advantages,
    designer_advantages,
    role_gain,
    role_weights,
)
from spade_train.config import Config
from spade_train.delayed import DueDesign
from spade_train.loop.outcomes import Outcome
from spade_train.loop.state import LiveEnv, LoopState, Remembered
from spade_train.measure import Measurement, measure, persistence
from spade_train.potential import Potential
from spade_train.scores import Score, designer_scores
from spade_train.types import Role


@dataclass(frozen=True, slots=True)
class Scored:
    """A designer sample with its score."""

    due: DueDesign
    measurement: Measurement | None
    """None if the program was refused or never played."""
    score: Score

    @property
    def key(self) -> str:
        """Name of its tokens."""
        return self.due.sample.key

    @property
    def regret(self) -> float | None:
        """Measured regret, whatever the score made of it."""
        found = self.measurement.regret if self.measurement else None
        return None if found is None else found.mean


@dataclass(frozen=True, slots=True)
class Grades:
    """Weighted advantages of all samples of an update, in all processes the same."""

    agent: Mapping[int, float]
    """By index of the episode; episodes that are not trained are missing."""
    designer: Mapping[str, float]
    """By key of the design; those without a score are missing."""
    tokens: float
    """Trained tokens of all of them, or 1.0 if there are none."""
    groups: Advantages
    """Of the trained episodes, before weighting."""


def scored(
    config: Config, state: LoopState, due: Sequence[DueDesign]
) -> tuple[tuple[Scored, ...], Potential]:
    """Return the scores of the samples that fall due, and the moving averages after them."""
    measurements = [_measured(each, state.waiting) for each in due]
    settings = config.designer.score.settings()
    scores, potential = designer_scores(measurements, settings, state.potential)
    found = []
    for each, measurement, score in zip(due, measurements, scores, strict=True):
        if measurement is None and each.sample.env is not None:
            # Accepted, but nobody played it: that is no refusal, and nothing to learn from.
            score = Score(value=None, reason="not played")
        found.append(Scored(each, measurement, score))
    return tuple(found), potential


def graded(
    config: Config,
    state: LoopState,
    outcomes: Sequence[Outcome],
    designs: Sequence[Scored],
) -> Grades:
    """Return the advantages of an update, with the balance of the roles in them.

    Args:
        config: baselines, groups, shares.
        state: holds the tokens of the designs.
        outcomes: episodes of the update in all processes, by index.
        designs: designer samples that are trained now; empty if the designer is not.
    """
    episodes = [each for each in outcomes if each.trained(config)]
    groups = agent_advantages(
        [each.reward(config) for each in episodes], [each.group(config) for each in episodes]
    )
    kept = [each for each in designs if each.score.value is not None]
    drafts = _designer(config, kept, len(episodes))
    counts = [each.tokens for each in episodes]
    written = [state.dialogues[each.key].sampled_tokens for each in kept]
    counts += written
    roles = [Role.AGENT] * len(episodes) + [Role.DESIGNER] * len(kept)
    weights = role_weights(
        counts, roles, shares=_shares(config, len(episodes), written), per=config.loss.per
    )
    values = np.concatenate([groups.values, drafts.values]) * weights
    split = len(episodes)
    return Grades(
        agent={each.index: float(values[n]) for n, each in enumerate(episodes)},
        designer={each.key: float(values[split + n]) for n, each in enumerate(kept)},
        tokens=float(sum(counts)) or 1.0,
        groups=groups,
    )


def remembered(designs: Sequence[Scored], envs: Mapping[str, LiveEnv]) -> list[Remembered]:
    """Return what is worth remembering: every environment that was played and did not break."""
    found = []
    for each in designs:
        measurement = each.measurement
        rate = measurement.success.rate if measurement else None
        if measurement is None or rate is None or each.score.reason == "faults":
            continue
        env = envs[measurement.env]
        found.append(
            Remembered(
                digest=env.digest,
                skill=env.skill,
                success=rate,
                regret=each.regret or 0.0,
                title=env.title,
                summary=env.summary,
            )
        )
    return found


def _measured(due: DueDesign, envs: Mapping[str, LiveEnv]) -> Measurement | None:
    if due.sample.env is None or not due.results:
        return None
    env = envs[due.sample.env]
    # The regret that counts is that of the new environment; how much is left of it is a factor.
    new = [each for each in due.results if each.update == env.update or not each.hinted]
    later = [each for each in due.results if each.update > env.update]
    left = 0.0
    if any(each.hinted for each in later):
        before = measure(new, skill=env.skill).regret
        after = measure(later, skill=env.skill).regret
        if before is not None and after is not None:
            left = persistence(before, after)
    return measure(new, skill=env.skill, chance=env.chance, hint=env.hint, persistence=left)


def _designer(config: Config, designs: Sequence[Scored], episodes: int) -> Advantages:
    designer = config.designer
    gain = designer.gain
    if gain == "role":
        gain = role_gain(episodes, len(designs), max(1, designer.interval), cap=designer.gain_cap)
    samples = [each.due.sample for each in designs]
    labels = [s.skill if designer.baseline == "skill" else s.brief for s in samples]
    return designer_advantages(
        [each.score.value or 0.0 for each in designs],
        labels,
        baseline=designer.baseline,
        gain=gain,
    )


def _shares(config: Config, episodes: int, written: Sequence[int]) -> dict[Role, float]:
    share = config.loss.designer_share
    if isinstance(share, float):
        # With one role alone its share is all there is, be it 0 in the configuration. Designs
        # without a token, since their briefs left no room, are not there.
        if not (episodes and any(written)):
            share = 0.5
        return {Role.DESIGNER: share, Role.AGENT: 1.0 - share}
    total = max(1, episodes + len(written))
    return {Role.DESIGNER: len(written) / total, Role.AGENT: episodes / total}
