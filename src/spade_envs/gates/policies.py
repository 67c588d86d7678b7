"""Policies that do not know the answer: what they earn is an environment's floor."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from spade_envs.api.calls import call
from spade_envs.types import Interface, Json


@dataclass(slots=True)
class View:
    """What a policy may look at before each action."""

    interface: Interface
    level: int
    seed: int | None
    first: str
    """First observation."""
    last: str
    """Latest observation."""
    turn: int = 0
    """Actions taken so far."""
    rng: random.Random = field(default_factory=lambda: random.Random(0))


Policy = Callable[[View], str | None]
"""Returns the next action, or None to stop playing."""


def script(actions: Sequence[str]) -> Policy:
    """Return the policy that takes `actions` in order, then stops."""
    return lambda view: actions[view.turn] if view.turn < len(actions) else None


def constant(text: str, turns: int | None = None) -> Policy:
    """Return the policy that always says `text`, at most `turns` times."""
    return lambda view: text if turns is None or view.turn < turns else None


def cycle(texts: Sequence[str]) -> Policy:
    """Return the policy that goes through `texts` again and again."""
    return lambda view: texts[view.turn % len(texts)]


def boxed(text: str) -> str:
    r"""Return `text` as a `\boxed{}` answer."""
    return f"\\boxed{{{text}}}"


def echo_first(view: View) -> str:
    """Say the first observation back."""
    return view.first


def echo_last(view: View) -> str:
    """Say the latest observation back."""
    return view.last


CONSTANTS = (
    *map(str, range(10)),
    "-1",
    "yes",
    "no",
    "true",
    "false",
    "A",
    "B",
    "a",
    "e",
    "none",
    "nan",
    "inf",
)
REFUSAL = "I cannot help with that."
SEEN_CHARS = 1500
"""How much of the observations random arguments are drawn from, counted from the end."""

GARBAGE = "lorem ipsum " * 400

_QUOTED = re.compile(r"'([^'\n]{1,40})'|\"([^\"\n]{1,40})\"|`([^`\n]{1,40})`")
_TOKEN = re.compile(r"-?\d+(?:\.\d+)?|[^\W\d_]+(?:[-'][^\W\d_]+)*")
_LISTED = re.compile(r"^\s*(?:[-*\u2022]|\d+[.)])\s+(.{1,40})$", re.MULTILINE)


def tokens(text: str) -> list[str]:
    """Return the numbers and words of `text`, in order."""
    return _TOKEN.findall(text)


def vocabulary(text: str) -> list[str]:
    """Return what an agent without understanding could say after reading `text`."""
    quoted = [next(filter(None, groups)) for groups in _QUOTED.findall(text)]
    listed = [item.strip() for item in _LISTED.findall(text)]
    found = [*quoted, *listed, *tokens(text), *map(str, range(10)), "yes", "no"]
    return list(dict.fromkeys(found))


def random_words(view: View) -> str:
    """Say one or two random words of what was seen; quoted and listed phrases as a whole."""
    words = vocabulary(view.last if view.rng.random() < 0.5 else f"{view.first}\n{view.last}")
    said = view.rng.choice(words)
    if view.rng.random() < 0.25:
        said = f"{said} {view.rng.choice(words)}"
    return boxed(said) if view.rng.random() < 0.5 else said


def random_call(view: View) -> str:
    """Make one random call that fits the schemas, or now and then answer with a random word."""
    tools = view.interface.tools
    if not tools or view.rng.random() < 0.15:
        return random_words(view)
    function = view.rng.choice(tools)["function"]
    return call(function["name"], **sample_arguments(function["parameters"], view))


def random_grammar(view: View) -> str:
    """Act at random within the grammar that the environment shows."""
    return random_call(view) if view.interface.kind == "tool" else random_words(view)


def sample_arguments(parameters: Mapping[str, Json], view: View) -> dict[str, Json]:
    """Return random arguments for an OpenAI `parameters` schema."""
    required = set(parameters.get("required", ()))
    return {
        name: _sample(schema, view)
        for name, schema in parameters.get("properties", {}).items()
        if name in required or view.rng.random() < 0.5
    }


def _sample(schema: Mapping[str, Json], view: View) -> Json:
    rng = view.rng
    if "enum" in schema:
        return rng.choice(list(schema["enum"]))
    if "anyOf" in schema:
        return _sample(rng.choice(list(schema["anyOf"])), view)
    kind = schema.get("type")
    words = vocabulary(f"{view.first[-SEEN_CHARS:]}\n{view.last[-SEEN_CHARS:]}")
    numbers = [word for word in words if word.lstrip("-").isdecimal() and len(word) < 9]
    match kind:
        case "integer":
            return int(rng.choice([*numbers, "0", "1"]))
        case "number":
            return float(rng.choice([*numbers, "0", "1"]))
        case "boolean":
            return rng.random() < 0.5
        case "array":
            count = rng.randint(1, 3)
            return [_sample(schema.get("items", {"type": "string"}), view) for _ in range(count)]
        case "object":
            return sample_arguments(schema, view)
        case "null":
            return None
    return rng.choice(words)
