"""The agent's part of an update: each process plays its share, all know the outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from spade_train.batch import World
from spade_train.config import Config
from spade_train.loop.held import HeldOut, held_jobs, held_metrics
from spade_train.loop.jobs import with_hint
from spade_train.loop.outcomes import Outcome
from spade_train.loop.ports import Rollouts
from spade_train.loop.spread import gathered, mine
from spade_train.loop.state import LoopState
from spade_train.rollouts.jobs import EpisodeJob, Played
from spade_train.runs import Spent


@dataclass(frozen=True, slots=True)
class Plays:
    """Episodes of one update."""

    played: tuple[tuple[int, Played], ...]
    """Those of this process, each with the place of its job."""
    outcomes: tuple[Outcome, ...]
    """What is to be known of all of them, in order."""

    @classmethod
    def alone(cls, played: Sequence[Played]) -> Plays:
        """Return the episodes of a world of one process."""
        placed = tuple(enumerate(played))
        return cls(placed, tuple(Outcome.of(place, each) for place, each in placed))


@dataclass(frozen=True, slots=True)
class Acting:
    """Lets the agent play, in all processes at the same time."""

    config: Config
    rollouts: Rollouts
    world: World

    def play(self, jobs: Sequence[EpisodeJob], *, greedy: bool = False) -> Plays:
        """Return the episodes of these jobs."""
        sampling = self.config.agent.sampling
        if greedy:
            sampling = sampling.model_copy(update={"temperature": 0.0})
        share = self._share(jobs)
        done = self.rollouts.act([job for _, job in share], sampling=sampling)
        played = tuple((place, each) for (place, _), each in zip(share, done, strict=True))
        own = [Outcome.of(place, each) for place, each in played]
        return Plays(played, tuple(gathered(own, Outcome, self.world)))

    def with_hints(
        self, jobs: Sequence[EpisodeJob], state: LoopState
    ) -> tuple[tuple[EpisodeJob, ...], LoopState]:
        """Let the policy write the hints of this process's jobs; the state pays for all."""
        share = [(place, job) for place, job in self._share(jobs) if job.hinted]
        written = self.rollouts.write_hints([job for _, job in share])
        told = {place: hint.text for (place, _), hint in zip(share, written, strict=True)}
        tokens = sum(hint.dialogue.sampled_tokens for hint in written)
        spent = Spent(hint_tokens=sum(map(int, self.world.gather(tokens))))
        hinted = tuple(
            with_hint(job, told[place]) if place in told else job for place, job in enumerate(jobs)
        )
        return hinted, replace(state, spent=state.spent + spent)

    def evaluate(self, held: HeldOut, update: int) -> dict[str, float]:
        """Return held-out success with the weights as they are; it counts in no budget."""
        settings = self.config.evaluation
        jobs = held_jobs(held, episodes=settings.episodes, seed=settings.seed, update=update)
        if not jobs:
            return {}
        plays = self.play(jobs, greedy=settings.greedy)
        return held_metrics(held, [each.result for each in plays.outcomes])

    def _share(self, jobs: Sequence[EpisodeJob]) -> list[tuple[int, EpisodeJob]]:
        return mine(jobs, self.world, together=lambda job: job.env)
