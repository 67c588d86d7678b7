"""Where a run's gates and episodes run: on this machine or on a Ray cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from spade_envs.play.stage import Scene
from spade_train.batch import World
from spade_train.config import Config
from spade_train.rollouts import DesignSettings
from spade_train.rollouts.checking import Judge

if TYPE_CHECKING:
    from spade_train.rollouts.ray_cluster import RayCluster


class Places:
    """Gives rollouts what runs environments; None stands for this machine."""

    def __init__(self, config: Config, world: World) -> None:
        """Connect to the cluster if one is asked for.

        Args:
            config: its section `rollout` decides.
            world: the processes that train together; each has workers of its own.

        Raises:
            MissingExtra: ray is not installed.
            SandboxError: there is no cluster.
        """
        self._cluster: RayCluster | None = None
        if config.rollout.backend == "ray":
            from spade_train.rollouts.ray_cluster import RayCluster

            self._cluster = RayCluster(config.rollout.workers, share=world.size)

    @contextmanager
    def scene(self) -> Iterator[Scene | None]:
        """Give what plays the episodes of one rollout."""
        if self._cluster is None:
            yield None
            return
        from spade_train.rollouts.ray_stage import RayStage

        stage = RayStage(self._cluster)
        try:
            yield stage
        finally:
            stage.close()

    def judge(self, settings: DesignSettings) -> Judge | None:
        """Return what checks programs."""
        if self._cluster is None:
            return None
        from spade_train.rollouts.ray_cluster import RayJudge

        return RayJudge(self._cluster, depth=settings.depth, timeout_s=settings.timeout_s)

    def close(self) -> None:
        """End the workers on the cluster."""
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None
