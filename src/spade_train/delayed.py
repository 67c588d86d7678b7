"""Designer samples that wait until the episodes of their environments are in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from spade_train.errors import DataError
from spade_train.types import DesignSample, EpisodeResult


@dataclass(frozen=True, slots=True)
class DueDesign:
    """A designer sample whose time has come, with all episodes of its environment."""

    sample: DesignSample
    results: tuple[EpisodeResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayedDesigns:
    """Designer samples and the episodes they wait for: a pure value, to be kept in the checkpoint.

    A sample written at update u falls due at update u + delay, whether or not that update designs
    new environments; what is left at the end of a run comes out by `flush`.

    Source: the delay is published (reference 1.3). There, samples fall due only at design updates
        and the last epoch is never trained.
    """

    delay: int
    """Updates between writing and training, >= 0."""
    samples: tuple[DesignSample, ...] = ()
    results: tuple[EpisodeResult, ...] = ()

    def __post_init__(self) -> None:
        if self.delay < 0:
            raise DataError(f"a delay is >= 0 updates, not {self.delay}")

    def with_samples(self, samples: Iterable[DesignSample]) -> DelayedDesigns:
        """Return the buffer with more samples.

        Raises:
            DataError: a key or an environment is there already.
        """
        together = (*self.samples, *samples)
        keys = [sample.key for sample in together]
        envs = [sample.env for sample in together if sample.env is not None]
        if len(set(keys)) < len(keys) or len(set(envs)) < len(envs):
            raise DataError("two designer samples share a key or an environment")
        return replace(self, samples=together)

    def with_results(self, results: Iterable[EpisodeResult]) -> DelayedDesigns:
        """Return the buffer with more episodes; those that no sample waits for are left out."""
        wanted = {sample.env for sample in self.samples}
        more = (result for result in results if result.env in wanted)
        return replace(self, results=(*self.results, *more))

    def due(self, update: int) -> tuple[tuple[DueDesign, ...], DelayedDesigns]:
        """Return what falls due at this update, oldest first, and the buffer without it."""
        ready = [sample for sample in self.samples if sample.update + self.delay <= update]
        return self._split(ready)

    def flush(self) -> tuple[tuple[DueDesign, ...], DelayedDesigns]:
        """Return everything that waits, and an empty buffer."""
        return self._split(self.samples)

    def _split(self, ready: Sequence[DesignSample]) -> tuple[tuple[DueDesign, ...], DelayedDesigns]:
        episodes: dict[str, list[EpisodeResult]] = {}
        for result in self.results:
            episodes.setdefault(result.env, []).append(result)
        due = tuple(
            DueDesign(sample, tuple(episodes.get(sample.env, ()) if sample.env else ()))
            for sample in sorted(ready, key=lambda sample: sample.update)
        )
        gone, envs = {sample.key for sample in ready}, {sample.env for sample in ready}
        rest = replace(
            self,
            samples=tuple(sample for sample in self.samples if sample.key not in gone),
            results=tuple(result for result in self.results if result.env not in envs),
        )
        return due, rest
