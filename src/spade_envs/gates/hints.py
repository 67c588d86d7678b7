"""Family L4, hints: a hint tells the way and not the answer."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence

from spade_envs.api.calls import call, parse_calls
from spade_envs.gates.disguise import shows, spellings, spelt, squeezed
from spade_envs.gates.fields import values_in
from spade_envs.gates.finding import NO_REFERENCE, Finding, failed, passed, skipped, warned
from spade_envs.gates.lane import Job
from spade_envs.gates.policies import script, tokens
from spade_envs.gates.reference import answer_in, wins
from spade_envs.gates.stats import Rate
from spade_envs.gates.subject import Form, Subject, answer_forms
from spade_envs.gates.thresholds import (
    HINT_COPY_FAIL,
    HINT_COPY_WARN,
    HINT_SEEDS,
    LEAK_SHARE,
    MIN_LEAK_ANSWERS,
    MIN_LEAK_SEEDS,
)
from spade_envs.gates.trace import Trace, clip
from spade_envs.gates.withheld import is_call, leaves, secrets_of
from spade_envs.types import ResetOutcome, StepOutcome

NO_HINT = "it has no hint()"
MAX_TOKENS = 80
COPY_SCREEN = 2

Place = tuple[str, int | str]
"""Where something stands in a text: after a word, or so many tokens from its start or end."""


def hint_withholds_answer(subject: Subject) -> Finding:
    """L4.1: the hint does not hold the answer, in any usual spelling."""
    if not subject.has_hint:
        return skipped(NO_HINT)
    if not subject.has_reference:
        return skipped(NO_REFERENCE)
    for level in subject.levels:
        said = subject.hints(level, subject.seeds[:HINT_SEEDS])
        hints = {seed: unicodedata.normalize("NFKC", hint) for seed, hint in said.items()}
        if len(set(hints.values())) < MIN_LEAK_ANSWERS:
            continue  # too few different hints to hold what differs from seed to seed
        traces = [
            trace
            for trace in subject.references(level, list(hints))
            if wins(subject, trace) and trace.seed is not None
        ]
        shown = {trace.seed or 0: trace.start.observation for trace in traces}
        for name, secret in secrets_of(traces, calls=subject.interface.kind == "tool"):
            found = _stands(hints, secret, shown)
            if found is not None:
                place, how, seeds = found
                seed = seeds[0]
                return failed(
                    f"the hint holds {name} {how or 'as it is'} {_name(place)} for {len(seeds)} of "
                    f"{len(secret)} seeds at level {level}; tell the way, not the answer",
                    level=level, seed=seed, hint=clip(hints[seed]), answer=clip(secret[seed]),
                )  # fmt: skip
        told = _tells_all(subject, hints, traces)
        if told is not None:
            return told
    return passed("the hint does not hold the answer")


def tells(hints: Mapping[int, str], solutions: Mapping[int, Sequence[str]]) -> str:
    """Return which secret stands at one place in most hints; empty if none does.

    The rule of L4.1 for hints and references that are known already. Too few instances tell
    nothing.

    Args:
        hints: by seed.
        solutions: the reference's actions of the same seeds.
    """
    traces = [
        Trace(0, seed, ResetOutcome(), tuple((said, StepOutcome()) for said in actions))
        for seed, actions in solutions.items()
        if actions
    ]
    return next((name for name, secret in secrets_of(traces) if _stands(hints, secret, {})), "")


def _stands(
    hints: Mapping[int, str], secret: Mapping[int, str], shown: Mapping[int, str]
) -> tuple[Place, str, list[int]] | None:
    """Return where and how the secret stands in the hints of most seeds, if it does.

    What a task shows may be repeated: a hint for a cipher may quote the text to decipher.
    """
    seeds = [seed for seed in secret if seed in hints]
    needed = max(MIN_LEAK_SEEDS, LEAK_SHARE * len(seeds))
    if len(seeds) < needed or len({secret[seed] for seed in seeds}) < MIN_LEAK_ANSWERS:
        return None
    found: dict[tuple[Place, str], list[int]] = {}
    for missed, seed in enumerate(seeds):
        if missed > len(seeds) - needed and not found:
            return None
        for how, pattern in spellings(secret[seed], squeezed(hints[seed])).items():
            if how and shows(shown.get(seed, ""), secret[seed], how):
                continue
            for place in _places(hints[seed], pattern):
                found.setdefault((place, how), []).append(seed)
    for (place, how), at in found.items():
        if len(at) < needed or len({secret[seed] for seed in at}) < MIN_LEAK_ANSWERS:
            continue
        if not _tells_all_alike(hints, secret, place, at):
            return place, how, at
    return None


def _tells_all_alike(
    hints: Mapping[int, str], secret: Mapping[int, str], place: Place, seeds: Sequence[int]
) -> bool:
    """Whether most hints hold the answers of other seeds at that place, too, as a legend does."""
    legends = 0
    for seed in seeds:
        others = {secret[other] for other in seeds} - {secret[seed]}
        legends += any(place in _places(hints[seed], spelt(other)) for other in others)
    return 2 * legends > len(seeds)


def _places(text: str, pattern: str) -> set[Place]:
    """Return the places at which a pattern stands."""
    places: set[Place] = set()
    for match in re.finditer(pattern, text, re.IGNORECASE):
        before, after = tokens(text[: match.start()]), tokens(text[match.end() :])
        places.add(("start", len(before)))
        places.add(("end", len(after)))
        if before:
            places.add(("after", before[-1].casefold()))
    return places


def _name(place: Place) -> str:
    kind, where = place
    return f"after {where!r}" if kind == "after" else f"{where} words from its {kind}"


def _tells_all(
    subject: Subject, hints: Mapping[int, str], traces: Sequence[Trace]
) -> Finding | None:
    """Return a failure if a task without an answer is given away by its arguments.

    What the agent is shown at the start or told by the user is no secret.
    """
    tools = subject.interface.kind == "tool"
    told = 0
    example: Trace | None = None
    for trace in traces:
        if not all(map(is_call, trace.actions[:-1])):
            return None
        users = [str(got.info.get("user", "")) for _, got in trace.steps]
        shown = "\n".join([trace.start.observation, *users])
        values = leaves(trace.actions) if tools else values_in(subject, trace.actions[-1])
        hidden = {value for value in values if value not in shown}
        text = hints.get(trace.seed or 0, "")
        if hidden and all(re.search(spelt(value), text, re.IGNORECASE) for value in hidden):
            told, example = told + 1, trace
    last = {answer_in(subject, trace.actions) for trace in traces} if tools else set()
    if example is None or len(last) > 1 or told < max(MIN_LEAK_SEEDS, LEAK_SHARE * len(traces)):
        return None
    return failed(
        f"the hint holds every value that the agent has to find out, for {told} of {len(traces)} "
        f"seeds at level {example.level}; tell how to find them",
        hint=clip(hints[example.seed or 0]),
        **example.evidence(),
    )


# L4.2


def hint_copy_earns_nothing(subject: Subject) -> Finding:
    """L4.2: an agent that copies from the hint stays at the floor."""
    if not subject.has_hint:
        return skipped(NO_HINT)
    warning: Finding | None = None
    highest = 0.0
    for level in subject.edge_levels:
        for way in _promising(subject, level):
            rate, other, example = _measured(subject, level, way)
            gain = rate.mean - other.mean
            highest = max(highest, gain)
            if gain <= HINT_COPY_WARN:
                continue
            text = (
                f"an agent that copies {way_name(way)} of the hint earns {rate.mean:.0%} at level "
                f"{level}, and {other.mean:.0%} with another seed's hint; tell the way, not the "
                "answer"
            )
            evidence = {"copied": list(way), "own": rate.as_json(), "other": other.as_json()}
            if gain > HINT_COPY_FAIL:
                return failed(text, **evidence, **example.evidence())
            warning = warning or warned(text, level=level, **evidence)
    return warning or passed(f"copying from the hint earns at most {highest:.0%} more")


Way = tuple[str, int | str]
"""What is copied: `("whole", 0)`, `("line", 2)`, `("quoted", 0)`, a token's place, ..."""


def _promising(subject: Subject, level: int) -> list[Way]:
    """Return the ways of copying that win on the first seeds."""
    seeds = subject.seeds[:COPY_SCREEN]
    hints = subject.hints(level, seeds)
    if len(hints) < len(seeds):
        return []
    form = answer_forms(subject, level)[0]
    said = {seed: copies(hint, form) for seed, hint in hints.items()}
    fixed = {form(w) for w in set.intersection(*(set(tokens(h)) for h in hints.values()))}
    varied = [way for way in said[seeds[0]] if len({said[s].get(way) for s in seeds}) > 1]
    plays = {
        (seed, said[seed][way])
        for seed in seeds
        for way in varied
        if way in said[seed] and not (way[0] == "token" and said[seed][way][0] in fixed)
    }
    jobs = {play: Job(level, play[0], script(play[1])) for play in sorted(plays)}
    traces = subject.plain.run(list(jobs.values()), fresh=False)
    scores = {play: subject.score(trace) for play, trace in zip(jobs, traces, strict=True)}
    won = {
        way: sum(scores.get((s, said[s].get(way, ())), 0.0) > HINT_COPY_WARN for s in seeds)
        for way in varied
    }
    return [way for way in varied if won[way]]


def _measured(subject: Subject, level: int, way: Way) -> tuple[Rate, Rate, Trace]:
    """Return what copying earns with the seed's own hint, with another seed's, and an episode."""
    hints = subject.hints(level, subject.seeds)
    form = answer_forms(subject, level)[0]
    said = {seed: copies(hint, form).get(way, ("",)) for seed, hint in hints.items()}
    seeds = list(said)
    own = [Job(level, seed, script(said[seed])) for seed in seeds]
    turned = [*seeds[1:], *seeds[:1]]
    other = [Job(level, s, script(said[t])) for s, t in zip(seeds, turned, strict=True)]
    traces = subject.plain.run([*own, *other], fresh=False)
    scores = [subject.score(trace) for trace in traces]
    best = max(traces[: len(own)], key=subject.score)
    return Rate.of(scores[: len(own)]), Rate.of(scores[len(own) :]), best


_QUOTED = re.compile(r"'([^'\n]+)'|\"([^\"\n]+)\"|`([^`\n]+)`|\\boxed\{([^}\n]+)\}")
_NUMBER = re.compile(r"-?\d+(?:[.,]\d+)*")
_CALL = re.compile(r"\b([A-Za-z_]\w*)\(([^()]*)\)")
_PART = re.compile(r"[\n,;>\u2192]+|\bthen\b|\band\b|\s-+\s")


def copies(hint: str, form: Form) -> dict[Way, tuple[str, ...]]:
    """Return what an agent could say after this hint or other text, by the way of copying."""
    found: dict[Way, tuple[str, ...]] = {}

    def note(kind: str, index: int, text: str) -> None:
        if text.strip():
            found[kind, index] = (form(text.strip()),)

    note("whole", 0, hint)
    lines = [line for line in hint.splitlines() if line.strip()]
    for index, line in enumerate(lines[:20] if len(lines) > 1 else ()):
        note("line", index, line)
    for index, groups in enumerate(_QUOTED.findall(hint)[:20]):
        note("quoted", index, next(filter(None, groups)))
    for kind, values in (("number", _NUMBER.findall(hint)), ("token", tokens(hint)[:MAX_TOKENS])):
        for index in range(min(len(values), 40)):
            note(kind, index, values[index])
            note(kind, -1 - index, values[-1 - index])
    for index, part in enumerate(re.split(r":\s|\bis\s|=\s?", hint)[1:20]):
        note("after", index, part.split("\n")[0].rstrip(". "))
        note("after, one sentence", index, re.split(r"[.\n](?:\s|$)", part)[0])
    for name, text in (("parts", hint), ("parts after a colon", hint.partition(":")[2])):
        parts = [part.strip(" .\"'`[]()") for part in _PART.split(text)]
        steps = tuple(form(part) for part in parts if part)
        if 1 < len(steps) <= MAX_TOKENS:
            found[name, 0] = steps
    if len(lines) > 1:
        found["lines", 0] = tuple(lines[:MAX_TOKENS])
    found["all words", 0] = tuple(form(token) for token in tokens(hint)[:MAX_TOKENS])
    calls = _calls(hint)
    if calls:
        found["calls", 0] = (*calls, "Done.")
    return found


def _calls(hint: str) -> list[str]:
    """Return the tool calls that a hint holds, as JSON or as `name(key=value)`."""
    found = [item for item in parse_calls(hint) if item.error is None]
    if found:
        return [call(item.name, **item.arguments) for item in found]
    return [call(name, **_arguments(inside)) for name, inside in _CALL.findall(hint)]


def _arguments(text: str) -> dict[str, str | int]:
    found: dict[str, str | int] = {}
    for part in text.split(","):
        key, equals, value = part.partition("=")
        if equals:
            plain = value.strip().strip("\"'")
            found[key.strip()] = int(plain) if plain.lstrip("-").isdecimal() else plain
    return found


def way_name(way: Way) -> str:
    """Return a way of copying in words."""
    kind, index = way
    return f"the {kind}" if kind in ("whole", "parts", "calls", "lines") else f"{kind} {index}"
