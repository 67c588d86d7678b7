"""The screening before L3.3: which of very many ignorant policies earn anything at all.

Fixed texts are said several to an episode, since most of them earn nothing in any order. Whatever
paid is a suspect, and L3.3 then measures each suspect by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from spade_envs.api.calls import finish
from spade_envs.gates.lane import Job
from spade_envs.gates.policies import (
    CONSTANTS,
    GARBAGE,
    REFUSAL,
    Policy,
    all_candidates,
    constant,
    copy_example,
    cycle,
    echo_first,
    echo_last,
    limited,
    null,
    one_tool,
    random_grammar,
    script,
    tokens,
)
from spade_envs.gates.probes import DIGITS, HOSTILE, NONSENSE
from spade_envs.gates.stats import Rate
from spade_envs.gates.subject import Form, Subject, answer_forms
from spade_envs.gates.trace import Trace

SEEDS = 3
SEEDS_BETWEEN = 2
"""Seeds for the levels between the lowest and the highest."""
TOGETHER = 8
"""Texts said in one episode."""
SHORT_TURNS = 4
MOST_TURNS = {"text": 26, "tool": 6}
MOST_DIGITS = 12
MOST_RANDOM_TURNS = 24
"""Turns of an agent that guesses anew each turn; in a tool environment a bare word says little."""
MOST_COMMANDS = 6
MOST_MOVES, MOVES_EACH = 6, 3
"""Different actions of the references that are gone through, and how often each must come."""
MOST_TOOLS = 16
NUMBERS = " ".join(map(str, range(2000)))
LETTERS = "etaoinsrhldcumfpgwybvkxjqz"


@dataclass(frozen=True, slots=True)
class Guess:
    """A policy that does not know the answer."""

    name: str
    policy: Policy
    adaptive: bool = False
    """Guesses anew each turn or reads the observation: luck may earn it more."""


SILENT = Guess("says nothing to the end", null)

Case = tuple[int, Guess]
"""Level and policy."""


@dataclass(frozen=True, slots=True)
class Screened:
    """Which policies earned something, and what was seen of all others together."""

    suspects: tuple[Case, ...]
    clean: dict[Case, Rate]


def screen(subject: Subject) -> Screened:
    """Play every ignorant policy on a few seeds of every level."""
    sweeps = [
        (level, _turned(part, seed), seed)
        for level in subject.floor_levels
        for part in _parts(_texts(subject, level))
        for seed in _seeds(subject, level)
    ]
    if subject.depth != "quick":  # whoever pays for garbage pays for it on any seed
        level, seed = subject.levels[0], subject.seeds[0]
        empty = map(answer_forms(subject, level)[0], NONSENSE)
        sweeps += [(level, part, seed) for part in _parts(list(dict.fromkeys((*HOSTILE, *empty))))]
    guesses = [
        (level, guess, seed)
        for level in subject.floor_levels
        for guess in (*_guesses(subject, level), *_commands(subject, level))
        for seed in _seeds(subject, level)
    ]
    jobs = [Job(level, seed, script(part)) for level, part, seed in sweeps]
    jobs += [Job(level, seed, guess.policy, guess.name) for level, guess, seed in guesses]
    traces = subject.plain.run(jobs, fresh=False)
    swept, played = traces[: len(sweeps)], traces[len(sweeps) :]
    unsaid = [
        Job(level, seed, constant(text, 1))
        for (level, part, seed), trace in zip(sweeps, swept, strict=True)
        for text in part[len(trace.steps) :]
    ]
    alone = subject.plain.run(unsaid, fresh=False)
    paid = [trace for trace in (*swept, *alone) if subject.score(trace) > 0]
    cases = [(trace.level, text) for trace in paid for text in trace.actions]
    suspects = [(level, _always(text)) for level, text in dict.fromkeys(cases)]
    for trace in subject.silent_episodes(subject.edge_levels, subject.seeds[:1]):
        if subject.score(trace) > 0:
            suspects.append((trace.level, SILENT))
    for (level, guess, _), trace in zip(guesses, played, strict=True):
        if subject.score(trace) > 0 and (level, guess) not in suspects:
            suspects.append((level, guess))
    return Screened(tuple(suspects), _clean(subject, [*traces, *alone]))


def _clean(subject: Subject, traces: Sequence[Trace]) -> dict[Case, Rate]:
    """Return, by level, how many episodes earned nothing."""
    counts = Counter(trace.level for trace in traces if subject.score(trace) <= 0)
    together = Guess("says any of the fixed texts", null)
    return {(level, together): Rate(0, count, 0.0) for level, count in counts.items()}


def _seeds(subject: Subject, level: int) -> list[int]:
    edge = level in (subject.levels[0], subject.levels[-1]) and subject.depth != "quick"
    return subject.seeds[: SEEDS if edge else SEEDS_BETWEEN]


def _parts(texts: Sequence[str]) -> list[tuple[str, ...]]:
    return [tuple(texts[start : start + TOGETHER]) for start in range(0, len(texts), TOGETHER)]


def _turned(part: tuple[str, ...], seed: int) -> tuple[str, ...]:
    """Return the texts in an order that begins with another one for each seed."""
    first = seed % len(part)
    return part[first:] + part[:first]


def _always(text: str) -> Guess:
    return Guess(f"always {text[:20]!r}", constant(text, SHORT_TURNS))


def _texts(subject: Subject, level: int) -> list[str]:
    texts = [form(text) for form in answer_forms(subject, level) for text in CONSTANTS]
    texts += ["", " ", REFUSAL, finish(), GARBAGE, answer_forms(subject, level)[0](NUMBERS)]
    return list(dict.fromkeys(texts))


def _guesses(subject: Subject, level: int) -> Iterator[Guess]:
    """Yield policies that read at most what is shown, or know the moves that there are."""
    form = answer_forms(subject, level)[0]
    letters = [form(letter) for letter in LETTERS]
    tools = subject.interface.tools if level == subject.levels[0] else ()
    names = [tool["function"]["name"] for tool in tools[:MOST_TOOLS]]
    most = MOST_TURNS[subject.interface.kind]
    # An environment that gives many guesses may be one that can be counted through.
    longest = max(most, subject.interface.max_turns if subject.interface.kind == "text" else 0)
    adaptive: dict[str, Policy] = {
        "goes through the letters": cycle(letters),
        "goes through the digits": limited(cycle(DIGITS), MOST_DIGITS),
    }
    moves = _moves(subject, level)
    if moves:
        through = limited(cycle(moves), longest)
        yield Guess("says all known moves in turn", through, adaptive=True)
    yield from (
        *(Guess(f"calls {name} and says it is done", one_tool(i)) for i, name in enumerate(names)),
        Guess("says nothing", limited(null, MOST_TURNS["text"])),
        Guess("copies the worked examples", copy_example),
        Guess("names all that it reads at once", all_candidates),
        Guess("echoes the first observation", limited(echo_first, SHORT_TURNS)),
        Guess("echoes the latest observation", limited(echo_last, SHORT_TURNS)),
        Guess("counts up from 0", limited(_count_up(form), longest), adaptive=True),
        *(Guess(name, limited(act, most), adaptive=True) for name, act in adaptive.items()),
        Guess("acts at random", limited(random_grammar, MOST_RANDOM_TURNS), adaptive=True),
    )


def _moves(subject: Subject, level: int) -> list[str]:
    """Return the actions of the references, if they are few moves that come again and again."""
    edge = level in (subject.levels[0], subject.levels[-1]) and subject.depth != "quick"
    if not edge or subject.interface.kind == "tool" or not subject.has_reference:
        return []
    known = Counter(action for trace in subject.references(level) for action in trace.actions)
    enough = 1 < len(known) <= MOST_MOVES and sum(known.values()) >= MOVES_EACH * len(known)
    return sorted(known) if enough else []


def _count_up(form: Form) -> Policy:
    return lambda view: form(str(view.turn))


def _commands(subject: Subject, level: int) -> list[Guess]:
    """Return policies that repeat one word which every first observation of the level holds."""
    if subject.interface.kind == "tool" or level not in (subject.levels[0], subject.levels[-1]):
        return []
    shown = [trace.start.observation for trace in subject.starts(level)[:SEEDS]]
    common = set.intersection(*(set(tokens(text)) for text in shown))
    most = MOST_COMMANDS if subject.depth != "quick" else MOST_COMMANDS // 4
    words = [word for word in dict.fromkeys(reversed(tokens(shown[0]))) if word in common]
    return [Guess(f"always says {word!r}", constant(word)) for word in words[:most]]
