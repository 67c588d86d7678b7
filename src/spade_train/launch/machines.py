"""What a run samples and plays with: engines, chat formats, environments, rollouts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from typing import Any, Self

from spade_envs.store import EnvStore, open_store
from spade_envs.types import EnvSource
from spade_train.batch import World
from spade_train.config import Config
from spade_train.config.roles import Sampling
from spade_train.engines import Engine
from spade_train.launch.auditor import PolicyClient, audited
from spade_train.launch.engines import open_engine, open_frozen
from spade_train.launch.exams import Exams
from spade_train.launch.folder import Opened
from spade_train.launch.places import Places
from spade_train.loop.ports import Audited, Spans
from spade_train.rollouts import (
    ActSettings,
    Clock,
    Decoding,
    Designed,
    DesignJob,
    DesignSettings,
    EpisodeJob,
    Played,
    Shelf,
    Speech,
    WrittenHint,
    act,
    design,
    format_of,
    speech_of,
    write_hints,
)
from spade_train.tokens import ChatFormat
from spade_train.trainer import load_policy

STORE = "envstore"
QUICK = "quick"
"""Folder of a run for environments that passed quick checks only."""


@dataclass(frozen=True, slots=True)
class Forms:
    """The chat format of each kind of conversation."""

    agent: ChatFormat
    designer: ChatFormat
    hint: ChatFormat

    @classmethod
    def of(cls, config: Config, model: Any, tokenizer: Any) -> Forms:
        """Return the formats of a model for a configuration.

        Raises:
            TemplateError: the chat template cannot be used, or thinking is asked for and it has no
                switch.
        """
        ends = _ends(model)
        roles = config.agent.sampling, config.designer.sampling, config.hint.sampling
        return cls(*(format_of(tokenizer, config, role, stops=ends) for role in roles))

    @property
    def stops(self) -> frozenset[int]:
        """Tokens that end a turn of any of them."""
        return self.agent.stops | self.designer.stops | self.hint.stops


class PolicyRollouts:
    """The rollouts of one policy: what the loop asks for, with the parts of this process."""

    def __init__(
        self,
        config: Config,
        forms: Forms,
        speech: Speech,
        shelf: Shelf,
        engine: Engine,
        designer: Engine,
        places: Places,
        run: str,
    ) -> None:
        """Take the parts.

        Args:
            config: of the run.
            forms: chat formats.
            speech: how the designer is asked and read.
            shelf: the environments of the run.
            engine: samples what the agent says, and hints; another one where the agent is frozen.
            designer: samples programs; another one where the designer is never trained.
            places: run environments.
            run: name of the run, for the provenance of what is designed.
        """
        self._config, self._forms, self._speech, self._shelf = config, forms, speech, shelf
        self._engine, self._designer, self._places = engine, designer, places
        self._designs = DesignSettings.of(config, run=run)
        self._clock = Clock()

    def act(self, jobs: Iterable[EpisodeJob], *, sampling: Sampling | None = None) -> list[Played]:
        """Return the episodes in the order of the jobs."""
        settings = ActSettings.of(self._config)
        if sampling is not None:
            settings = replace(settings, decoding=Decoding.of(sampling))
        with self._places.scene() as scene:
            done = act(
                jobs,
                engine=self._engine,
                form=self._forms.agent,
                shelf=self._shelf,
                settings=settings,
                clock=self._clock,
                scene=scene,
            )
        return list(done.played)

    def design(self, jobs: Sequence[DesignJob], *, known: Collection[str]) -> Iterable[Designed]:
        """Return what came of each job, in their order, each as soon as it is known."""
        return design(
            jobs,
            engine=self._designer,
            form=self._forms.designer,
            shelf=self._shelf,
            settings=self._designs,
            known=known,
            speech=self._speech,
            clock=self._clock,
            judge=self._places.judge(self._designs),
        )

    def write_hints(self, jobs: Sequence[EpisodeJob]) -> list[WrittenHint]:
        """Return the policy's hint for the instance of each job, in their order."""
        with self._places.scene() as scene:
            return write_hints(
                jobs,
                engine=self._engine,
                form=self._forms.hint,
                shelf=self._shelf,
                decoding=Decoding.of(self._config.hint.sampling),
                clock=self._clock,
                scene=scene,
            )

    def audit(self, sources: Sequence[EnvSource]) -> Audited:
        """Return the policy's remarks on each source."""
        with self.sampling():
            client = PolicyClient(self._engine, self._forms.designer, self._config.model.path)
            return audited(sources, client)

    def sampling(self) -> AbstractContextManager[None]:
        """Count the time of a block as the model's."""
        return self._clock.on("model")

    def source(self, digest: str) -> EnvSource:
        """Return the source of an environment on the shelf."""
        return self._shelf.source(digest)

    def spans(self) -> Spans:
        """Return the wall time since the last call of this function."""
        times, self._clock = self._clock.times(), Clock()
        names = ("model_s", "gates_s", "play_s", "tokens_s")
        return Spans({name: getattr(times, name) for name in names})


class Machines:
    """Everything that a run samples and plays with, closed at the end. A context manager."""

    def __init__(
        self, opened: Opened, model: Any, tokenizer: Any, world: World, stores: Sequence[EnvStore]
    ) -> None:
        """Start the engines and open the stores.

        Args:
            opened: the run's folder.
            model: the model that is trained.
            tokenizer: of the model.
            world: the processes that train together.
            stores: further stores whose environments are played.

        Raises:
            EngineError: an engine cannot start.
            SandboxError: there is no Ray cluster where one is asked for.
            TemplateError: the chat template cannot be used.
        """
        config, self._stack = opened.config, ExitStack()
        forms = Forms.of(config, model, tokenizer)
        store = open_store(opened.path / STORE, create=True)
        shelf = Shelf(store, opened.path / QUICK, stores)
        self.engine = open_engine(config, model, forms.stops, opened.path, world)
        self._stack.callback(self.engine.close)
        designer = agent = self.engine
        if "initial" in (config.designer.weights, config.agent.weights):
            frozen = open_frozen(load_policy(config)[0], forms.stops)
            self._stack.callback(frozen.close)
            designer = frozen if config.designer.weights == "initial" else designer
            agent = frozen if config.agent.weights == "initial" else agent
        if opened.run is not None:
            self._stack.callback(shelf.close)
        places = Places(config, world)
        self._stack.callback(places.close)
        run = f"{config.name}-{opened.name[:8]}"
        self.rollouts = PolicyRollouts(
            config, forms, speech_of(tokenizer), shelf, agent, designer, places, run
        )
        examined = PolicyClient(agent, forms.agent, config.model.path, timed=self.rollouts.sampling)
        self.exams = Exams(config, examined)
        self._stack.callback(self.exams.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def _ends(model: Any) -> tuple[int, ...]:
    """Return the end tokens of the model's generation settings."""
    ends = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    if ends is None:
        return ()
    return (int(ends),) if isinstance(ends, int) else tuple(int(each) for each in ends)
