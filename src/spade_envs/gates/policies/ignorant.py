"""Policies that do not know the answer: what they earn is an environment's floor."""

from __future__ import annotations

from collections.abc import Mapping

from spade_envs.api.calls import call, finish
from spade_envs.gates.policies.view import (
    Policy,
    View,
    boxed,
    constant,
    echo_first,
    echo_last,
    null,
)
from spade_envs.gates.policies.words import examples, integers, tokens, vocabulary
from spade_envs.types import Json

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


def copy_example(view: View) -> str | None:
    """Say the worked examples of the first observation, one a turn, bare and then boxed."""
    found = examples(view.first)
    said = [*found, *map(boxed, found)]
    return said[view.turn] if view.turn < len(said) else None


def all_candidates(view: View) -> str | None:
    """Name every number and word of the first observation in one message, bare, then boxed."""
    if view.turn > 1:
        return None
    text = " ".join(dict.fromkeys(tokens(view.first)))
    return (text, boxed(text))[view.turn]


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


def one_tool(index: int) -> Policy:
    """Return the policy that calls one tool with random arguments and then says that it is done.

    Args:
        index: which of the declared tools, >= 0; where there are fewer, it does not play.
    """

    def act(view: View) -> str | None:
        if index >= len(view.interface.tools) or view.turn > 1:
            return None
        if view.turn == 1:
            return finish()
        function = view.interface.tools[index]["function"]
        return call(function["name"], **sample_arguments(function["parameters"], view))

    return act


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
    seen = f"{view.first[-SEEN_CHARS:]}\n{view.last[-SEEN_CHARS:]}"
    match kind:
        case "integer":
            return int(rng.choice((*integers(seen), "0", "1")))
        case "number":
            return float(rng.choice((*integers(seen), "0", "1")))
        case "boolean":
            return rng.random() < 0.5
        case "array":
            count = rng.randint(1, 3)
            return [_sample(schema.get("items", {"type": "string"}), view) for _ in range(count)]
        case "object":
            return sample_arguments(schema, view)
        case "null":
            return None
    return rng.choice(vocabulary(seen))


POLICIES: Mapping[str, Policy] = {
    "null": null,
    **{f"always {text}": constant(text) for text in CONSTANTS},
    "refusal": constant(REFUSAL),
    "echo first": echo_first,
    "echo last": echo_last,
    "copy example": copy_example,
    "all candidates": all_candidates,
    "random": random_grammar,
}
"""The ignorant policies by name: whatever plays them gets the same floor."""
