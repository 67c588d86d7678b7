"""Who plays a suite: language models, functions, and the scripted floors and ceiling."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import random
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable
from urllib.parse import urlsplit

from spade_envs.design.brief import derive_seed
from spade_envs.design.clients import (
    CompletionRequest,
    Policy,
    complete_all,
    is_spec,
    open_policy,
    split_thinking,
)
from spade_envs.errors import ClientError, ConfigError
from spade_envs.types import Completion, Json, Message
from spade_train.suites.base import UNANSWERED, Decoding, Fault, Session
from spade_train.suites.own import look_here

FLOORS = ("oracle", "empty", "constant", "random")
"""Ceiling and floors that stand beside every policy."""
CONSTANT = "42"
"""What `constant` says."""
SCRIPTED = "oracle, empty, random, constant[=TEXT] or python:MODULE:FUNCTION"
Respond: TypeAlias = Callable[[tuple[Message, ...]], str]
"""A policy as a function: from a conversation to the next reply."""

_TOO_LONG = re.compile(
    r"prompt has \d+ tokens, but|leaves no room for an answer|maximum context length|"
    r"longer than the maximum model length|"
    r"context_length_exceeded|exceed\w* the (?:model'?s? )?(?:available )?context",
    re.IGNORECASE,
)
_REASON_CHARS = 300
_WEIGHTS = re.compile(r".*\.(?:safetensors|bin|json|jinja|model|gguf)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One reply that is wanted."""

    session: Session
    messages: tuple[Message, ...]
    seed: int
    """Of this reply, in [0, 2**31): it follows from suite, task, sample and turn."""
    sample: int
    """Number of the attempt at its task, >= 0."""
    turn: int
    """Replies given so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a player says."""

    text: str
    """Without thinking."""
    thinking: str = ""
    cut: bool = False
    """Whether it was broken off at the greatest length."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class TooLong:
    """The conversation does not fit the model: the attempt ends there and is scored as it is."""

    reason: str


Answer: TypeAlias = Reply | TooLong | Fault


class Player(Protocol):
    """Replies in many sessions at once; what it says in one depends on that one alone."""

    @property
    def name(self) -> str:
        """Name of its row."""
        ...

    @property
    def identity(self) -> Mapping[str, Json]:
        """All that its replies depend on; finished attempts of another identity are not reused."""
        ...

    @property
    def samples_vary(self) -> bool:
        """Whether a second attempt may go otherwise; a fixed player attempts each task once."""
        ...

    @property
    def decodes(self) -> bool:
        """Whether temperature and the like mean something to it."""
        ...

    @property
    def cuts(self) -> bool:
        """Whether it follows `top_p` and `top_k` of the decoding."""
        ...

    def act(self, asks: Sequence[Ask], decoding: Decoding) -> list[Answer]:
        """Return one answer per ask, in order.

        Raises:
            ClientError: no ask got an answer.
        """
        ...


@dataclass(frozen=True, slots=True)
class RulePlayer:
    """Replies by a rule."""

    name: str
    rule: Callable[[Ask], Answer]
    samples_vary: bool = False
    decodes: bool = False
    cuts: bool = False
    identity: Mapping[str, Json] = field(default_factory=dict)

    def act(self, asks: Sequence[Ask], decoding: Decoding) -> list[Answer]:
        """Return what the rule says to each."""
        return [self.rule(ask) for ask in asks]


@runtime_checkable
class TwoRoles(Protocol):
    """A model that designs when it gets a system message: in a benchmark it is always the agent."""

    def as_agent(self) -> Policy:
        """Return the same model that acts in every chat."""
        ...


class PolicyPlayer:
    """A language model that replies by chat; one of two roles plays as the agent.

    Args:
        policy: the model.
        name: of its row; the model's own if none.
        identity: of the model, beside its name.
        cuts: whether it was opened with `top_p` and `top_k` of the decoding that it is asked for.
    """

    samples_vary = decodes = True

    def __init__(
        self,
        policy: Policy,
        *,
        name: str = "",
        identity: Mapping[str, Json] | None = None,
        cuts: bool = False,
    ) -> None:
        role: dict[str, Json] = {}
        if isinstance(policy, TwoRoles):
            policy, role = policy.as_agent(), {"role": "agent"}
        self._policy, self.cuts = policy, cuts
        self.name = name or policy.name
        self.identity: Mapping[str, Json] = {"model": policy.name, **(identity or {}), **role}

    def act(self, asks: Sequence[Ask], decoding: Decoding) -> list[Answer]:
        """Return what the model says to each; all are asked together."""
        requests = [
            CompletionRequest(
                messages=ask.messages,
                seed=ask.seed,
                max_tokens=decoding.max_tokens,
                temperature=decoding.temperature,
                attempt=ask.sample,
                turn=ask.turn,
            )
            for ask in asks
        ]
        try:
            answers = complete_all(self._policy, requests)
        except ClientError as error:
            if not _TOO_LONG.search(str(error)):
                raise
            answers = self._policy.complete_many(requests)
            if all(isinstance(a, ClientError) and not _TOO_LONG.search(str(a)) for a in answers):
                raise
        return [_answer(answer) for answer in answers]


def _answer(answer: Completion | ClientError) -> Answer:
    if isinstance(answer, ClientError):
        text = " ".join(str(answer).split())
        return TooLong(text) if _TOO_LONG.search(text) else Fault("policy", text)
    thinking, text = split_thinking(answer.text) if not answer.thinking else ("", answer.text)
    return Reply(
        text=text,
        thinking=answer.thinking or thinking,
        cut=answer.finish_reason == "length",
        prompt_tokens=answer.prompt_tokens,
        completion_tokens=answer.completion_tokens,
    )


def function_player(
    respond: Respond, *, name: str, identity: Mapping[str, Json] | None = None
) -> RulePlayer:
    """Return the player that a function makes.

    Args:
        respond: gives the same reply every time; where it raises, exits or gives no text, the
            attempt has a fault. What it prints goes to standard error.
        name: of its row.
        identity: what tells it from others; its name if None.
    """

    def rule(ask: Ask) -> Answer:
        try:
            with contextlib.redirect_stdout(sys.stderr):  # ours is for tables and JSON
                said = respond(ask.messages)
        except (Exception, SystemExit) as error:  # noqa: BLE001  the boundary: a user's function
            text = " ".join(f"{type(error).__name__}: {error}".split())
            return Fault("policy", text[:_REASON_CHARS])
        if not isinstance(said, str):
            return Fault("policy", f"{name} returned {type(said).__name__} in place of a text")
        thinking, text = split_thinking(said)
        return Reply(text=text, thinking=thinking)

    return RulePlayer(name, rule, identity={"function": name} if identity is None else identity)


def scripted(spec: str) -> RulePlayer | None:
    """Return the scripted player that a spec names; None if it names a model.

    Args:
        spec: `oracle` says what the suite's reference says, `empty` nothing, `random` a random
            well-formed reply, `constant` one text, `python:MODULE:FUNCTION` what a function of the
            conversation returns.

    Raises:
        ConfigError: the function cannot be found.
    """
    word, equals, text = spec.partition("=")
    if word == "constant":
        said = text if equals else CONSTANT
        return RulePlayer(spec, lambda ask: Reply(text=said), identity={"constant": said})
    if spec == "oracle":
        return RulePlayer(spec, _oracle)
    if spec == "empty":
        return RulePlayer(spec, lambda ask: Reply(text=""))
    if spec == "random":
        return RulePlayer(spec, _random, samples_vary=True)
    if word.startswith("python:"):
        respond = _function(spec.removeprefix("python:"))
        return function_player(respond, name=spec, identity=_source(spec))
    return None


def open_player(
    spec: str,
    *,
    policy: Policy | None = None,
    name: str = "",
    cuts: bool = False,
    dtype: str | None = None,
) -> Player:
    """Return the player that a spec names.

    Args:
        spec: a scripted one (`scripted`), a folder with a checkpoint, or a model as
            `spade_envs.design.clients.open_policy` takes it.
        policy: the model that the spec names, if it is open already.
        name: of its row; its own if none. Floors and oracle keep theirs.
        cuts: whether `policy` was opened with the cuts of the decoding.
        dtype: in which the weights of a checkpoint compute, such as `float32`; their own if None.

    Raises:
        ConfigError: there is no such player, or the name is one of a floor.
        MissingExtra: a library that it needs is not installed.
    """
    if name.partition("=")[0] in FLOORS:
        raise ConfigError(f"{name!r} is the name of a row that is no policy: take another")
    found = scripted(spec) if policy is None else None
    if found is not None:
        if name and spec.partition("=")[0] in FLOORS:
            raise ConfigError(f"{spec} keeps its own name: leave {name!r} out")
        return replace(found, name=name or found.name)
    model = model_spec(spec)
    kind: dict[str, Json] = {} if dtype is None else {"dtype": dtype}
    opened = policy or open_policy(model, **kind)
    return PolicyPlayer(opened, name=name, identity=_identity(model) | kind, cuts=cuts)


def model_spec(spec: str) -> str:
    """Return a spec that `open_policy` takes; a folder with a model stands for `hf:FOLDER`."""
    if Path(spec).is_dir() and "://" not in spec:
        if not (Path(spec) / "config.json").is_file():
            raise ConfigError(f"{spec} holds no model: there is no config.json in it")
        return f"hf:{spec}"
    if not is_spec(spec):
        raise ConfigError(
            f"no model {spec!r}; write a folder with a checkpoint, http://HOST:PORT/v1[#NAME], "
            "openai:NAME, vllm:PATH, hf:PATH, nano, scripted:FILE, python:MODULE:FUNCTION, oracle, "
            "empty, random or constant=TEXT"
        )
    return spec


def reply_seed(attempt_seed: int, turn: int) -> int:
    """Return the seed of one reply."""
    return derive_seed("reply", attempt_seed, turn)


def _oracle(ask: Ask) -> Answer:
    said = ask.session.reference()
    if said is not None:
        return Reply(text=said)
    broken = ask.session.score() if ask.session.done else None  # asking may have broken it
    return broken if isinstance(broken, Fault) else UNANSWERED


def _random(ask: Ask) -> Answer:
    return Reply(text=ask.session.random(random.Random(ask.seed)))


def _function(place: str) -> Respond:
    module, colon, function = place.partition(":")
    if not (module and colon and function):
        raise ConfigError(f"python:{place} names no function; write python:MODULE:FUNCTION")
    look_here()
    try:
        with contextlib.redirect_stdout(sys.stderr):
            found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"python:{place} cannot be found: {error}") from error
    except (Exception, SystemExit) as error:  # the boundary: a module of the user's
        told = " ".join(f"{type(error).__name__}: {error}".split())[:_REASON_CHARS]
        raise ConfigError(
            f"python:{place}: {module} cannot be imported, it ends with {told}"
        ) from error
    if not callable(found):
        raise ConfigError(f"python:{place} is no function")
    return found  # type: ignore[no-any-return]  # what it returns is read as text


def _source(spec: str) -> dict[str, Json]:
    """Return what tells two versions of one function apart: the file that holds its module."""
    module = sys.modules[spec.removeprefix("python:").partition(":")[0]]
    place = getattr(module, "__file__", None)
    data = Path(place).read_bytes() if place and Path(place).is_file() else b""
    return {"function": spec, "source": hashlib.sha256(data).hexdigest()[:16]}


def _identity(spec: str) -> dict[str, Json]:
    """Return what tells two models of one name apart."""
    scheme, _, rest = spec.partition(":")
    if scheme in ("http", "https"):
        parts = urlsplit(spec)
        return {"server": f"{parts.scheme}://{parts.hostname}:{parts.port}{parts.path}"}
    if scheme in ("hf", "vllm") and Path(rest).is_dir():
        return {"backend": scheme, "files": _fingerprint(Path(rest))}
    if scheme == "scripted" and Path(rest).is_file():
        return {"script": hashlib.sha256(Path(rest).read_bytes()).hexdigest()}
    return {"spec": spec}


def _fingerprint(folder: Path) -> str:
    """Return a digest of names, lengths and times of a model's files: quick for large ones."""
    found = []
    for path in sorted(folder.iterdir()):
        if path.is_file() and _WEIGHTS.match(path.name):
            stat = path.stat()
            found.append([path.name, stat.st_size, stat.st_mtime_ns])
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()[:16]
