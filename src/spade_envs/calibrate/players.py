"""Who plays a calibration: language models, and scripted players whose skill is known."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from spade_envs.design.brief import derive_seed
from spade_envs.design.clients import CompletionRequest, Policy, complete_all
from spade_envs.errors import ClientError, ConfigError
from spade_envs.gates.policies import View, null, random_grammar
from spade_envs.play import conversation
from spade_envs.types import Interface, Turn

SCRIPTED = "scripted:"
FORMS = "scripted:empty, scripted:random, scripted:constant=TEXT or scripted:reference[=P[,Q]]"

Said = str | ClientError | None
"""An action; why there is none; or None if the player stops."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a player may look at before an action."""

    env: str
    """Digest of the environment."""
    interface: Interface
    level: int
    seed: int
    """Of the instance."""
    number: int
    """Number of the instance at its level, >= 0."""
    first: str
    """First observation."""
    turns: tuple[Turn, ...]
    hint: str | None
    """None in the arm without."""
    solution: tuple[str, ...] = ()
    """The reference's actions, for players that say `knows`."""


class Player(Protocol):
    """Acts in many episodes at once; what it does in one depends on that episode alone."""

    @property
    def name(self) -> str:
        """What goes into the ledger, such as the model's name."""
        ...

    @property
    def settings(self) -> tuple[str | int | float, ...]:
        """What its actions depend on beside its name."""
        ...

    @property
    def knows(self) -> bool:
        """Whether it is shown solutions: for tests of the measurement alone."""
        ...

    def act(self, seen: Sequence[Seen]) -> list[Said]:
        """Return the next action in each episode, in order.

        Raises:
            ClientError: no episode got an answer.
        """
        ...


class ModelPlayer:
    """A language model that plays by chat, as in training: no system message, hint at the start.

    Args:
        policy: the model.
        seed: of its sampling, >= 0.
        temperature: of its sampling, >= 0.
        max_tokens: most tokens of one turn, >= 1.
        name: what the ledger calls the player; the model's own if empty.
    """

    knows = False

    def __init__(
        self,
        policy: Policy,
        *,
        seed: int = 0,
        temperature: float = 1.0,
        max_tokens: int = 2048,
        name: str = "",
    ) -> None:
        self._policy, self._seed, self._name = policy, seed, name or policy.name
        self._temperature, self._max_tokens = temperature, max_tokens

    @property
    def name(self) -> str:
        """Name of the model, or the one that was given."""
        return self._name

    @property
    def settings(self) -> tuple[str | int | float, ...]:
        """Seed, temperature and most tokens."""
        return self._seed, self._temperature, self._max_tokens

    def act(self, seen: Sequence[Seen]) -> list[Said]:
        """Return what the model says in each episode."""
        answers = complete_all(self._policy, [self._request(each) for each in seen])
        return [a if isinstance(a, ClientError) else a.text for a in answers]

    def _request(self, seen: Seen) -> CompletionRequest:
        arm = "plain" if seen.hint is None else "hinted"
        where = (seen.env, seen.level, seen.seed, arm, len(seen.turns))
        return CompletionRequest(
            messages=conversation(seen.first, seen.turns, hint=seen.hint),
            seed=derive_seed("act", self._seed, *where),
            max_tokens=self._max_tokens,
            temperature=self._temperature,
            attempt=seen.number,
            turn=len(seen.turns),
        )


@dataclass(frozen=True, slots=True)
class ScriptedPlayer:
    """Plays by a rule; `name` says which."""

    name: str
    rule: Callable[[Seen], Said]
    knows: bool = False
    settings: tuple[str | int | float, ...] = ()

    def act(self, seen: Sequence[Seen]) -> list[Said]:
        """Return what the rule says in each episode."""
        return [self.rule(each) for each in seen]


def scripted(spec: str) -> Player | None:
    """Return the scripted player that `spec` names; None if it names another kind of model.

    Args:
        spec: `scripted:empty` says nothing, `scripted:random` acts at random within what it is
            shown, `scripted:constant=TEXT` says one text, `scripted:reference` plays the solution;
            with `=P` on a share P of the instances, and says nothing on the others; with `=P,Q` on
            a share Q of them in the arm with the hint.

    Raises:
        ConfigError: it is none of these and no file, or its text cannot be said.
    """
    if not spec.startswith(SCRIPTED):
        return None
    word, equals, value = spec.removeprefix(SCRIPTED).partition("=")
    if word == "constant" and equals:
        if not _is_utf8(value):
            raise ConfigError(f"{spec!r} is not UTF-8, so no environment can be told it")
        return ScriptedPlayer(spec, lambda seen: value)
    if word == "reference":
        plain, hinted = _skills(value) if equals else (1.0, 1.0)
        return ScriptedPlayer(spec, lambda seen: _reference(seen, plain, hinted), knows=True)
    rules = {"empty": null, "random": random_grammar}
    if word in rules and not equals:
        rule = rules[word]
        return ScriptedPlayer(spec, lambda seen: rule(_view(seen)))
    if Path(spec.removeprefix(SCRIPTED)).is_file():
        return None
    raise ConfigError(f"no scripted player {spec!r}; write {FORMS}, or a file of completions")


def script_name(spec: str) -> str:
    """Return the name of a file of completions with its content; empty for other models.

    Its base name alone would make one player of two files in different folders.

    Raises:
        ConfigError: the file cannot be read.
    """
    if not spec.startswith(SCRIPTED) or scripted(spec) is not None:
        return ""
    path = Path(spec.removeprefix(SCRIPTED))
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read the script {path}: {error.strerror}") from error
    return f"{SCRIPTED}{path.name}#{hashlib.sha256(content).hexdigest()[:12]}"


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _skills(text: str) -> tuple[float, float]:
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not 1 <= len(found) <= 2 or not all(0 <= share <= 1 for share in found):
        raise ConfigError(f"skill {text!r}: write one or two shares in [0, 1], such as 0.3,0.8")
    return found[0], found[-1]


def _reference(seen: Seen, plain: float, hinted: float) -> str:
    """Play the solution on a share of the instances: with more skill on the same and more."""
    luck = random.Random(f"skill/{seen.env}/{seen.level}/{seen.seed}").random()
    able = luck < (plain if seen.hint is None else hinted)
    turn = len(seen.turns)
    return seen.solution[turn] if able and turn < len(seen.solution) else ""


def _view(seen: Seen) -> View:
    turn = len(seen.turns)
    return View(
        interface=seen.interface,
        level=seen.level,
        seed=seen.seed,
        first=seen.first,
        last=seen.turns[-1].observation if seen.turns else seen.first,
        turn=turn,
        name=f"{seen.env}/{seen.level}/{seen.seed}/{seen.hint is None}/{turn}",
    )
