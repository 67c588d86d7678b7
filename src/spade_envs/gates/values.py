"""Family L3, tool tasks: they are open until they are done, and what they need can be found."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping

from spade_envs.api.answers import answer_of
from spade_envs.gates.finding import Finding, failed, passed, skipped, warned
from spade_envs.gates.knowable import answers_can_be_known
from spade_envs.gates.lane import Job
from spade_envs.gates.policies import script
from spade_envs.gates.reference import wins
from spade_envs.gates.subject import Subject
from spade_envs.gates.thresholds import MIN_VALUE_SEEDS, TOOL_SEEDS
from spade_envs.gates.tool_results import Pool, results
from spade_envs.gates.tools import NO_TOOLS, World, explore
from spade_envs.gates.trace import Trace, clip
from spade_envs.gates.withheld import is_call

WALKS = 2
ROUNDS = 4
MIN_CODE_DIGITS = 4
MIN_WORD_CHARS = 3


def tasks_open_until_done(subject: Subject) -> Finding:
    """L3.14: every task is open until the reference does it, and they are met in order."""
    if not subject.interface.tools:
        return passed(NO_TOOLS)
    if not subject.has_reference:
        return skipped("needs a reference that does the tasks; add solution()")
    early: Trace | None = None
    for level in subject.levels:
        for trace in subject.references(level, subject.seeds[:WALKS]):
            watched = _watched(subject, trace)
            if not watched or not wins(subject, trace):
                continue
            problem = _out_of_order(subject, trace, watched)
            if problem:
                return failed(
                    f"{problem} at level {level}; a task's predicate may hold only once it is done",
                    predicates=[{"current": now, "met": list(met)} for now, met in watched],
                    **trace.evidence(),
                )
            first = [held for held in watched[0][1] if held is not None]
            if len(first) > 1 and sum(first) > len(first) / 2:
                early = early or trace
    if early is not None:
        return warned(
            "most of the tasks' predicates hold at reset already, so doing nothing meets them",
            **early.evidence(),
        )
    return passed("tasks are open until they are done, and are met in order")


Watched = list[tuple[int, list[bool | None]]]
"""Number of the current task and which predicates hold, after the reset and after each action."""


def _watched(subject: Subject, trace: Trace) -> Watched:
    """Return how the tasks stand along an episode; empty if that cannot be seen."""
    lane = subject.plain
    ours = subject.interface.api == "spade-1"
    live = lane.begin([Job(trace.level, trace.seed, script(trace.actions))], fresh=False)[0]
    found: Watched = []
    action: str | None = ""
    while action is not None and not live.start.fault:
        # In our contract the user speaks whenever a task is met, so silence means no change.
        if found and ours and not live.steps[-1][1].info.get("user"):
            found.append(found[-1])
        else:
            answer = lane.worker.probe(live.instance, "tasks", {})
            if not isinstance(answer, dict) or not answer.get("met"):
                found = []
                break
            found.append((int(answer["current"]), list(answer["met"])))
        action = live.next_action()
        if action is not None:
            live.step(action)
    live.close()
    return found


def _out_of_order(subject: Subject, trace: Trace, watched: Watched) -> str:
    """Return which task counts as done before its time; empty if none does."""
    ours = subject.interface.api == "spade-1"
    if watched[0][0] == 0 and watched[0][1][0]:
        return "the first task counts as done at reset"
    for index, (action, got) in enumerate(trace.steps):
        (before, _), (now, met) = watched[index], watched[index + 1]
        if now < len(met) and met[now] and now > before:
            return f"task {now + 1} counts as done when it is asked for"
        if now - before > 1 and _said_twice(action, got.observation):
            return f"task {before + 2} counts as done when it is asked for"
    if not ours and watched[-1][0] < len(watched[-1][1]):
        return f"the reference wins while task {watched[-1][0] + 1} is still open"
    return ""


def _said_twice(action: str, observation: str) -> bool:
    """Whether the user spoke twice in a row, with no result of a call in between."""
    if "<tool_call>" not in action:
        return True
    return re.search(r"^User: [^\n]*\nUser: ", observation, re.MULTILINE) is not None


# L3.15


def values_can_be_found(subject: Subject) -> Finding:
    """L3.15: every value that the reference uses is shown by the user or by a tool."""
    if not subject.interface.tools:
        return answers_can_be_known(subject)
    if not subject.has_reference:
        return skipped("needs a reference that calls the tools; add solution()")
    for level in subject.edge_levels:
        traces = subject.references(level, subject.seeds[:MIN_VALUE_SEEDS])
        hidden: dict[tuple[str, str], dict[int, str]] = {}
        for trace in traces:
            for tool, name, value in _unseen(subject, trace):
                hidden.setdefault((tool, name), {}).setdefault(trace.seed or 0, value)
        for (tool, name), values in hidden.items():
            if len(values) < min(MIN_VALUE_SEEDS, len(traces)) or len(set(values.values())) < 2:
                continue
            example = _needed(subject, level, values)
            if example is not None and not _found_by_search(subject, level, tool, name, values):
                value = values[example.seed or 0]
                return failed(
                    f"no tool and no message shows {clip(value, 60)!r}, which the reference gives "
                    f"as {name} to {tool} at level {level}; let a tool tell it",
                    tool=tool, parameter=name, value=value, **example.evidence(),
                )  # fmt: skip
    return passed("every value that the reference uses can be found")


def _unseen(subject: Subject, trace: Trace) -> Iterator[tuple[str, str, str]]:
    """Yield tool, parameter and value of arguments that nothing has shown before their use."""
    pool = Pool()
    pool.shown = [trace.start.observation.casefold(), repr(subject.interface.tools).casefold()]
    waiting: list[tuple[int, str]] = []
    for index, result in results(trace):
        while waiting and waiting[0][0] < index:
            pool.shown.append(waiting.pop(0)[1])
        for name, value in _texts(result.arguments):
            if not _known(pool, name, value):
                yield result.name, name, value
        pool.shown.append(result.text.casefold())
        waiting.append((index, trace.steps[index][1].observation.casefold()))
    for index, (action, got) in enumerate(trace.steps):
        if not is_call(action):
            for word in _CODE.findall(answer_of(action)):
                if not _known(pool, "", word):
                    yield THE_USER, "words", word
        if index + 1 < len(trace.steps):
            pool.shown.append(got.observation.casefold())


THE_USER = "the user"
_CODE = re.compile(r"\b(?=[^\W\d_]*\d)(?=\d*[^\W\d_])[^\W_]{4,}\b")
"""A word of letters and digits, which no one can compute; a number alone may be a result."""


def _texts(arguments: object, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(arguments, dict):
        for key, value in arguments.items():
            yield from _texts(value, name if _ID.search(name) else str(key))
    elif isinstance(arguments, list | tuple):
        for value in arguments:
            yield from _texts(value, name)
    elif isinstance(arguments, str | int | float) and not isinstance(arguments, bool):
        yield name, str(arguments)


_ID = re.compile(r"(?:^|_)(?:id|ids|number|no|code|codes|key|ref|reference|pin|token|serial|ticket|"
                 r"password|account|card|handle|uuid|slot_id)$", re.IGNORECASE)  # fmt: skip
_PIECE = re.compile(r"[^\W\d_]+|\d+")


def _known(pool: Pool, name: str, value: str) -> bool:
    """Whether a value was shown, or may be put together or computed from what was."""
    if not value.strip() or pool.holds(value):
        return True
    is_id = _ID.search(name) is not None
    if re.fullmatch(r"-?\d+(\.\d+)?", value):
        return not is_id or "." in value or _computable(pool, name, value)
    pieces = _PIECE.findall(value)
    unseen = sum(len(piece) for piece in pieces if not pool.holds(piece))
    if is_id and unseen >= MIN_CODE_DIGITS and not _DATE.fullmatch(value):
        return False  # an id of short pieces is as little to be guessed as one of a long piece
    return all(_shown(pool, piece) for piece in pieces)


_DATE = re.compile(r"\d{1,4}(?:[-/.:T ]\d{1,2}){1,5}")


_AMOUNT = re.compile(r"(?:^|_)(?:number|no|key)$", re.IGNORECASE)
"""Names of ids that amounts have as well."""
MAX_SHOWN_NUMBERS = 60
MAX_COMPUTED_DIGITS = 18


def _computable(pool: Pool, name: str, digits: str) -> bool:
    """Whether a number may be a small count or amount, next to a shown one, or made of such.

    Made of: sums of shown numbers in a row, differences and products of two.
    """
    length = len(digits.lstrip("-"))
    if length < (MIN_CODE_DIGITS if _AMOUNT.search(name) else MIN_WORD_CHARS):
        return True
    if length > MAX_COMPUTED_DIGITS:
        return False
    number = int(digits)
    if any(pool.holds_word(str(number + by)) for by in (-1, 1)):
        return True
    if not _AMOUNT.search(name):
        return False
    found = re.findall(r"(?<![\w.])\d{1,9}(?!\w)", " ".join(pool.shown))[-MAX_SHOWN_NUMBERS:]
    shown = [int(each) for each in found]
    if any(abs(a - b) == abs(number) or a * b == number for a in shown for b in shown):
        return True
    sums = (itertools.accumulate(shown[start:]) for start in range(len(shown)))
    return any(number in made for made in sums)


def _shown(pool: Pool, piece: str) -> bool:
    short = MIN_CODE_DIGITS if piece.isdecimal() else MIN_WORD_CHARS
    return len(piece) < short or pool.holds(piece)


def _found_by_search(
    subject: Subject, level: int, tool: str, name: str, values: Mapping[int, str]
) -> bool:
    """Whether a search through the tools brings any such value to light, on any seed.

    One is enough: then the search was only not long enough for the others.
    """
    names = [item["function"]["name"] for item in subject.interface.tools]
    wanted: dict[int, list[str]] = {}
    if tool == THE_USER:
        wanted = {seed: [value] for seed, value in values.items()}
    for trace in subject.references(level, subject.seeds[:TOOL_SEEDS]):
        wanted[trace.seed or 0] = wanted.get(trace.seed or 0, []) + [
            value
            for _, result in results(trace)
            if result.name == tool
            for key, value in _texts(result.arguments)
            if key == name
        ]

    def enough(worlds: Mapping[int, World]) -> bool:
        return any(
            _known(world.pool, name, value)
            for seed, world in worlds.items()
            for value in wanted.get(seed, ())
        )

    for share, seeds in ((0.0, 1), (0.5, 1), (0.0, TOOL_SEEDS)):
        worlds = explore(
            subject, level, share, names, rounds=ROUNDS, seeds=seeds, told=False, enough=enough
        )
        if enough(worlds):
            return True
    return False


def _needed(subject: Subject, level: int, values: dict[int, str]) -> Trace | None:
    """Return an episode that is lost because of another value; None if any value will do."""
    jobs = []
    for trace in subject.references(level, list(values)):
        old = values[trace.seed or 0]
        said = tuple(action.replace(old, _other(old)) for action in trace.actions)
        if said != trace.actions:
            jobs.append(Job(level, trace.seed, script(said)))
    lost = [t for t in subject.plain.run(jobs, fresh=False) if not wins(subject, t)]
    return lost[0] if lost and len(lost) == len(jobs) else None


def _other(value: str) -> str:
    """Return a value of the same form."""
    small, other = "abcdefghijklmnopqrstuvwxyz", "qwertyuiopasdfghjklzxcvbnm"
    old, new = f"0123456789{small}{small.upper()}", f"7408251963{other}{other.upper()}"
    return value.translate(str.maketrans(old, new))
