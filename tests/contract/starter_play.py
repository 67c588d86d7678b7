"""Plays the hand-written environments in process, for the contract tests and their children.

Run as a script it prints a JSON object that maps `name/level` to the sha256 of the transcripts of a
few seeds, so that two processes with different hash seeds can be compared.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from spade_envs.api import TextEnv, ToolEnv, call
from spade_envs.api.loading import find_entry

STORE = Path(__file__).parents[2] / "envstore"
STRANGE = (
    "", " ", "\n\n", "0", "-1", "9" * 5000, "-" + "9" * 5000, "nan", "inf", "1e999", "\x00",
    "\ud800", "🙂" * 50, "\u202eabc", "٣", "²", "{" * 500, "[" * 2000, "a" * 100_000,
    "," * 3000, "1," * 3000,
    "\\boxed{}", "\\boxed{" + "9" * 4400 + "}", "\\boxed{1e400}", "<answer></answer>", "Answer:",
    "<think>", "</think>", '{"name": "x", "arguments": {}}', "<tool_call>{}</tool_call>",
    '<tool_call>{"name": 3}</tool_call>', "[]", "null", '"text"', "A=1", "ask", "ask ٣", "try",
    "try 9", "set", "set A=", "N", "NESW" * 30, "BSW" * 20, "1-1", "1-1," * 500, "->", ">", "A>A",
)  # fmt: skip
CONSTANT = (
    "", "0", "1", "-1", "2", "5", "10", "42", "100", "yes", "no", "true", "A", "B", "N", "S",
    "none",
    "A, B, C, D, E", "1, 0", "1-1, 1-2", "done", "Done.", "I do not know.", "nan", "SSSSSSSSSS",
)  # fmt: skip

Policy = Callable[[TextEnv, str, random.Random], str]


def names() -> list[str]:
    """Return the names of the environments in the starter store."""
    return sorted(path.parent.parent.name for path in STORE.glob("envs/*/v*/env.py"))


def load(path: Path) -> type[TextEnv]:
    """Return the environment class that a reviewed source file defines."""
    namespace = {"__name__": "starter_" + path.parent.parent.name.replace("-", "_")}
    exec(compile(path.read_text("utf-8"), str(path), "exec"), namespace)
    return find_entry(namespace)


def entry(name: str) -> type[TextEnv]:
    """Return the class of the newest version of a starter environment."""
    versions = STORE.glob(f"envs/{name}/v*/env.py")
    return load(max(versions, key=lambda path: int(path.parent.name[1:])))


def play(env: TextEnv, seed: int, actions: Iterable[str]) -> tuple[float, bool, list[str]]:
    """Play actions until they or the episode end; return the return, success and observations."""
    observation, _ = env.reset(seed=seed)
    total, success, seen = go_on(env, actions)
    return total, success, [observation, *seen]


def go_on(env: TextEnv, actions: Iterable[str]) -> tuple[float, bool, list[str]]:
    """Play on from where an environment stands; return what `play` returns."""
    seen, total, success = [], 0.0, False
    for action in actions:
        observation, reward, terminated, truncated, info = env.step(action)
        seen.append(observation)
        total += reward
        if terminated or truncated:
            success = info["success"]
            break
    return total, success, seen


def roam(env: TextEnv, seed: int, policy: Policy) -> float:
    """Play one whole episode by a policy and return its return."""
    generator = random.Random(seed)
    observation, _ = env.reset(seed=seed)
    first, total = observation, 0.0
    for _ in range(env.max_turns):
        observation, reward, terminated, truncated, _ = env.step(
            policy(env, first + "\n" + observation, generator)
        )
        total += reward
        if terminated or truncated:
            return total
    raise AssertionError("the episode outlived max_turns")


def babble(env: TextEnv, seen: str, generator: random.Random) -> str:
    """Say something built from what was seen: a token, a few tokens, letters, or a tool call."""
    if isinstance(env, ToolEnv) and generator.random() < 0.7:
        return random_call(env, seen, generator)
    tokens = re.findall(r"[\w.:-]+", seen)
    letters = [token for token in tokens if len(token) == 1 and token.isalpha()]
    kind = generator.randrange(4)
    if kind == 0:
        return generator.choice(tokens)
    if kind == 1:
        return str(generator.randrange(0, 60))
    if kind == 2 and letters:
        return "".join(generator.choices(letters, k=generator.randrange(1, 6)))
    return ", ".join(generator.choices(tokens, k=generator.randrange(1, 6)))


def random_call(env: ToolEnv, seen: str, generator: random.Random) -> str:
    """Return a call of a random tool with arguments that fit its schema."""
    function = generator.choice(env.tools)["function"]
    arguments = {
        key: random_value(schema, seen, generator)
        for key, schema in function["parameters"]["properties"].items()
    }
    return call(function["name"], **arguments)


def random_value(schema: dict, seen: str, generator: random.Random) -> object:
    """Return a value that fits a JSON schema, made of what was seen."""
    if "enum" in schema:
        return generator.choice(schema["enum"])
    if "anyOf" in schema:
        return random_value(generator.choice(schema["anyOf"]), seen, generator)
    match schema.get("type"):
        case "integer":
            return generator.choice([int(x) for x in re.findall(r"\b\d{1,6}\b", seen)] or [1])
        case "number":
            return float(generator.randrange(0, 60))
        case "boolean":
            return generator.random() < 0.5
        case "array":
            return [random_value(schema["items"], seen, generator) for _ in range(2)]
        case "null":
            return None
    return generator.choice(re.findall(r"[\w.:-]+", seen))


def transcript(cls: type[TextEnv], level: int, seeds: Iterable[int]) -> str:
    """Return the sha256 of everything that solutions and strange actions bring to light."""
    digest = hashlib.sha256()
    for seed in seeds:
        env = cls(level=level)
        env.reset(seed=seed)
        for actions in (env.solution(), STRANGE[:16]):
            digest.update(json.dumps([seed, actions, play(env, seed, actions)]).encode())
        digest.update(env.hint().encode())
    return digest.hexdigest()


def main() -> None:
    """Print the digests of all transcripts."""
    found = {}
    for name in names():
        cls = entry(name)
        for level in range(cls.levels):
            found[f"{name}/{level}"] = transcript(cls, level, range(2))
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
