"""Tool calls of an episode with what they brought, and a search through a task's tools."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from spade_envs.api.calls import MAX_CALLS, ToolCall, call, calls, parse_calls
from spade_envs.gates.lane import Job
from spade_envs.gates.policies import script, tokens, vocabulary
from spade_envs.gates.subject import Subject
from spade_envs.gates.trace import Trace
from spade_envs.types import Interface, Json

MAX_VALUES = 8
MAX_WAYS = 8
MAX_PHRASE = 80
MAX_POOL = 400

_ERROR = re.compile(r"^\W*(?:error|exception|traceback)\b|[\"']error[\"']\s*:", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Result:
    """One call and what it brought."""

    name: str
    arguments: Mapping[str, Json]
    text: str

    @property
    def failed(self) -> bool:
        """Whether the tool answered with an error."""
        return _ERROR.search(self.text[:200]) is not None


def results(trace: Trace) -> Iterator[tuple[int, Result]]:
    """Yield the position of the action, and each call that it holds with its result.

    An action of more than `MAX_CALLS` calls holds none: environments refuse it as a whole, so it
    runs nothing.
    """
    for index, (action, got) in enumerate(trace.steps):
        found = parse_calls(action)
        told = got.info.get("tool_results")
        if isinstance(told, list):
            if len(told) != len(found):  # a foreign class that answers only what it could read
                found = [item for item in found if _readable(item)]
            for item, entry in zip(found, told, strict=True) if len(told) == len(found) else ():
                content = str(entry.get("content", "")) if isinstance(entry, dict) else ""
                if _readable(item):
                    yield index, Result(item.name, item.arguments, content)
        elif found and _readable(found[0]) and got.fault is None:
            yield index, Result(found[0].name, found[0].arguments, got.observation)


def _readable(item: ToolCall) -> bool:
    return item.error is None and bool(item.name)


def one_call_a_turn(interface: Interface) -> bool:
    """Whether an action runs one call only, as in the published shape."""
    return interface.api == "published-1"


_PARTS = re.compile(r"[^\W_]+")
MIN_PLANTED = 3


@dataclass
class Pool:
    """Values that an agent could know: by the name of a parameter or key, and all of them."""

    by_name: dict[str, dict[Json, None]] = field(default_factory=dict)
    texts: dict[str, None] = field(default_factory=dict)
    numbers: dict[int | float, None] = field(default_factory=dict)
    shown: list[str] = field(default_factory=list)
    """Everything that was read, as it was, without what was planted."""
    planted: set[str] = field(default_factory=set)
    """What only the reference has said so far; an echo of it shows nothing."""

    def plant(self, value: Json) -> None:
        """Take in what the reference says, before what it brings is read."""
        if isinstance(value, Mapping | list | tuple):
            for item in value.values() if isinstance(value, Mapping) else value:
                self.plant(item)
            return
        core = str(value).casefold().strip()
        parts = [core, *_PARTS.findall(core)]
        self.planted |= {
            part for part in parts if len(part) >= MIN_PLANTED and not self.holds(part)
        }

    def read(self, text: str) -> None:
        """Take in what a text shows: JSON by its keys, else quoted phrases, words, numbers."""
        shown = text.casefold()
        for core in sorted(self.planted, key=len, reverse=True):
            # A longer id that begins with it is none of what was said.
            shown = re.sub(rf"(?<!\w)(?<!\w[-./]){re.escape(core)}(?!\w|[-./]\w)", " ", shown)
        self.shown.append(shown)
        try:
            self.note("", json.loads(text))
        except (ValueError, RecursionError):
            for word in vocabulary(text)[:-12] if len(text) < 20_000 else ():
                self.note("", word)

    def note(self, name: str, value: Json) -> None:
        """Take in one value under the name of its key or parameter."""
        if isinstance(value, Mapping):
            for key, item in value.items():
                self.note("", key)
                self.note(str(key).casefold(), item)
            return
        if isinstance(value, list | tuple):
            for item in value:
                self.note(name, item)
            return
        if isinstance(value, bool) or value is None:
            return
        if name and len(kept := self.by_name.setdefault(name, {})) < MAX_POOL:
            kept.setdefault(value)
        if isinstance(value, int | float):
            self.numbers.setdefault(value)
        elif isinstance(value, str) and len(self.texts) < MAX_POOL:
            self.texts.setdefault(value)
            if " " in value and len(value) <= MAX_PHRASE:
                for word in tokens(value):
                    self.note("", word)
            if value.lstrip("-").isdecimal() and len(value) < 9:
                self.numbers.setdefault(int(value))

    def named(self, name: str) -> list[Json]:
        """Return the values seen under a name like this one, `sample` for `samples` included."""
        plain = _singular(name)
        found: dict[Json, None] = {}
        for key, values in self.by_name.items():
            other = _singular(key)
            if plain == other or plain.endswith(f"_{other}") or other.endswith(f"_{plain}"):
                found |= values
        return list(found)

    def holds(self, text: str) -> bool:
        """Whether a text was shown, without regard to case."""
        core = text.casefold()
        return any(core in shown for shown in self.shown)

    def holds_word(self, text: str) -> bool:
        """Whether a text was shown as a word of its own."""
        word = re.compile(rf"(?<!\w){re.escape(text.casefold())}(?!\w)")
        return any(word.search(shown) for shown in self.shown)


def _singular(name: str) -> str:
    plain = name.casefold()
    return plain[:-1] if plain.endswith("s") and len(plain) > 3 else plain


def sample_calls(
    schema: Mapping[str, Json], pool: Pool, rng: random.Random
) -> list[dict[str, Json]]:
    """Return up to 16 sets of arguments for a tool, of values that the pool holds."""
    function = schema["function"]
    parameters = function.get("parameters") or {}
    properties = parameters.get("properties") or {}
    stated = parameters.get("required")
    required = [name for name in properties if stated is None or name in stated]
    rows: list[dict[str, Json]] = []
    for wanted in [required, list(properties)] if len(required) < len(properties) else [required]:
        values = [_values(name, properties[name], pool, rng) for name in wanted]
        longest = max(map(len, values), default=1)
        mixed = [
            {n: column[i % len(column)] for n, column in zip(wanted, values, strict=True)}
            for i in range(min(longest, MAX_WAYS))
            if all(values)
        ]
        if all(values) and len(values) > 1:
            product = list(itertools.islice(itertools.product(*values), 4000))
            picked = rng.sample(product, min(MAX_WAYS, len(product)))
            mixed += [dict(zip(wanted, row, strict=True)) for row in picked]
        rows += mixed or ([{}] if not wanted else [])
    unique = {json.dumps(row, sort_keys=True, default=repr): row for row in rows}
    return list(unique.values())[: 2 * MAX_WAYS]


def _values(name: str, schema: Mapping[str, Json], pool: Pool, rng: random.Random) -> list[Json]:
    if "enum" in schema:
        return list(schema["enum"])
    if "anyOf" in schema:
        return [v for option in schema["anyOf"] for v in _values(name, option, pool, rng)][
            :MAX_VALUES
        ]
    known = pool.named(name)
    some: list[Json]
    match schema.get("type"):
        case "boolean":
            return [True, False]
        case "integer":
            some = [*(v for v in known if isinstance(v, int)), *_as_ints(known)]
            rest = [v for v in pool.numbers if isinstance(v, int)]
            return _some(some, [*rest, 1, 0, 2, 10], rng)
        case "number":
            some = [v for v in known if isinstance(v, int | float)]
            return _some(some, [*pool.numbers, 1, 0, 2.5], rng)
        case "array":
            items = _values(name, schema.get("items") or {"type": "string"}, pool, rng)
            return [[item] for item in items[: MAX_VALUES - 2]] + [items[:2], items]
        case "object":
            return [{}]
        case "null":
            return [None]
    some = [v for v in known if isinstance(v, str)]
    return _some(some, [text for text in pool.texts if len(text) <= 60], rng)


def _as_ints(values: Sequence[Json]) -> list[int]:
    return [int(v) for v in values if isinstance(v, str) and v.isdecimal() and len(v) < 9]


def _some(first: Sequence[Json], rest: Sequence[Json], rng: random.Random) -> list[Json]:
    """Return known values first, then others: names and numbers seen last, and random ones."""
    named = list(first) if len(first) <= MAX_VALUES else rng.sample(list(first), MAX_VALUES)
    others = [value for value in rest if value not in named]
    likely = [value for value in others if not (isinstance(value, str) and value.islower())]
    most = MAX_VALUES if not named else 2
    picked = likely[-most // 2 :] if most > 2 else []
    others = [value for value in others if value not in picked]
    return named + picked + rng.sample(others, min(most - len(picked), len(others)))


def try_calls(
    subject: Subject,
    level: int,
    prefixes: Mapping[int, tuple[str, ...]],
    wanted: Mapping[int, Sequence[tuple[str, Mapping[str, Json]]]],
) -> dict[int, list[Result]]:
    """Return what the wanted calls bring on each seed after the actions of its prefix."""
    jobs: list[Job] = []
    left = subject.interface.max_turns
    for seed, rows in wanted.items():
        texts = [call(name, **dict(arguments)) for name, arguments in rows]
        before = prefixes.get(seed, ())
        size = MAX_CALLS
        if one_call_a_turn(subject.interface):
            size = max(1, left - len(before))
        for start in range(0, len(texts), size):
            chunk = texts[start : start + size]
            said = tuple(chunk) if one_call_a_turn(subject.interface) else (calls(*chunk),)
            jobs.append(Job(level, seed, script((*before, *said)), "try"))
    found: dict[int, list[Result]] = {seed: [] for seed in wanted}
    for job, trace in zip(jobs, subject.plain.run(jobs, fresh=False), strict=True):
        seed = job.seed or 0
        skip = len(prefixes.get(seed, ()))
        found[seed] += [result for index, result in results(trace) if index >= skip]
    return found
