"""Opening the door of a store as the command line asks for it, with a progress bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spade_envs.novelty import Door, Thresholds
    from spade_envs.store import EnvStore


def open_door(store: EnvStore, novelty: str | None, *, jobs: int) -> Door:
    """Return the door of a store; the environments to compare with are played when it is asked.

    Args:
        store: what is written to.
        novelty: what the user wrote after `--novelty`.
        jobs: environments that are played at a time.

    Raises:
        ConfigError: the thresholds cannot be read.
    """
    from spade_envs.cli.output import say
    from spade_envs.novelty import Door

    def show(done: int, total: int) -> None:
        if total > _MANY and (done == total or done % _MANY == 0):
            say(f"played {done} of {total} environments of {store.root.name} to compare with")

    return Door(store, thresholds(novelty), jobs=jobs, progress=show)


_MANY = 100


def thresholds(novelty: str | None) -> Thresholds:
    """Return what the user wrote after `--novelty`, or the defaults.

    Raises:
        ConfigError: it cannot be read.
    """
    from spade_envs.novelty import Thresholds, parse_thresholds

    return Thresholds() if novelty is None else parse_thresholds(novelty)
