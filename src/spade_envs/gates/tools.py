"""Family L3, tools: every tool works, and reading leaves no trace."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from spade_envs.api.calls import MAX_CALLS, call, calls, parse_calls
from spade_envs.gates.finding import Finding, failed, passed, skipped, warned
from spade_envs.gates.lane import Job
from spade_envs.gates.policies import script
from spade_envs.gates.subject import Subject
from spade_envs.gates.thresholds import MIN_TOOL_TRIES, MIN_TRACE_SEEDS, TOOL_SEEDS
from spade_envs.gates.tool_results import (
    Pool,
    Result,
    one_call_a_turn,
    results,
    sample_calls,
    try_calls,
)
from spade_envs.gates.trace import Trace, clip
from spade_envs.types import Json, StepOutcome

NO_TOOLS = "it has no tools"
ROUNDS = 3
MIN_TOOL_NAME = 3
_OFFER = r"(?i:unlock|availab|enabl|tool)\w*"
_NO_TOOL = re.compile(r"no (?:such )?tool\b[^\n]*", re.I)
MANY_READS = 24
_ABSENT = re.compile(
    r"\b(no such|not found|unknown|there is no|does not exist|doesn't exist|invalid)\b", re.I
)
_BROKEN = re.compile(
    r"\b(unavailable|not implemented|disabled|out of (?:order|service)|offline|is down|internal|"
    r"unsupported|deprecated|always)\b", re.I
)  # fmt: skip


def tools_work(subject: Subject) -> Finding:
    """L3.13: every tool can succeed, and the reference calls no other."""
    names = [tool["function"]["name"] for tool in subject.interface.tools]
    if not names:
        return passed(NO_TOOLS)
    if (missing := _missing(subject, names)) is not None:
        return failed(
            f"the reference calls {missing.name!r}, which is no tool (tools: {', '.join(names)}); "
            "let it do what an agent has to do",
            tool=missing.name,
            result=clip(missing.text),
        )
    used = _used(subject, names)
    waiting = [name for name in names if not used[name].worked]
    tries = _tried(subject, waiting) if waiting else {}
    dead = [name for name in waiting if not any(not r.failed for r in tries[name])]
    warning: Finding | None = None
    for name in dead:
        every = [*used[name].failures, *tries[name]]
        why = _why_dead(subject, name, used[name], every)
        text = f"tool {name} never succeeds in {len(every)} calls"
        shown: list[Json] = [
            {"arguments": clip(repr(dict(r.arguments))), "result": clip(r.text)} for r in every[:5]
        ]
        if why and every:
            return failed(f"{text}: {why}; make it work or leave it out", tool=name, calls=shown)
        warning = warning or warned(f"{text}; no probe knows how to use it", tool=name, calls=shown)
    return warning or passed(f"all {len(names)} tools work")


def _missing(subject: Subject, names: Sequence[str]) -> Result | None:
    """Return a call of the reference to a tool that is not there: it wins without any.

    The calls are read from what the reference says: what an environment reports of them may differ.
    """
    one = one_call_a_turn(subject.interface)
    for level in subject.levels if subject.has_reference else ():
        for trace in subject.references(level, subject.seeds[:TOOL_SEEDS]):
            known = {*names, *(_offered(trace) if one else ())}
            for index, (action, got) in enumerate(trace.steps):
                found = parse_calls(action)
                for place, item in enumerate(found[:1] if one else found):
                    said = _said(got, len(found), place)
                    result = Result(item.name, item.arguments, said)
                    readable = item.error is None and bool(item.name)
                    if readable and item.name not in known and not _told_of(trace, index, result):
                        return result
    return None


def _said(got: StepOutcome, calls: int, place: int) -> str:
    """Return what a call brought: its own result, if each has one, else the observation."""
    told = got.info.get("tool_results")
    own = told[place] if isinstance(told, list) and len(told) == calls else None
    return str(own.get("content", "")) if isinstance(own, dict) else got.observation


def _offered(trace: Trace) -> set[str]:
    """Return the tools of one episode, which in the published shape may differ by seed or level."""
    tools = trace.start.info.get("tools")
    rows = [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    functions = [row["function"] for row in rows if isinstance(row.get("function"), dict)]
    return {str(function.get("name")) for function in functions}


def _told_of(trace: Trace, index: int, result: Result) -> bool:
    """Whether a call works of which the agent has read before, as of a tool that is unlocked.

    It must be named as a tool is: in backticks or quotes or before a bracket; or, in a reply and
    not in the task, where tools, or what is unlocked, are spoken of.
    """
    if result.failed:
        return False
    name, start = re.escape(result.name), trace.start.observation
    marked = re.compile(rf"[`']{name}[`'](?!\s*:)|\b{name}\(")
    replies = [_NO_TOOL.sub("", got.observation) for _, got in trace.steps[:index]]
    if any(marked.search(text) for text in (start, *replies)):
        return True
    if len(result.name) < MIN_TOOL_NAME or re.search(rf"\b{name}\b", start):
        return False
    spoken = re.compile(rf"\b{name}\b[^\n.;]{{0,60}}\b{_OFFER}|\b{_OFFER}[^\n.;]{{0,60}}\b{name}\b")
    return any(spoken.search(text) for text in replies)


@dataclass
class _Use:
    """How the reference fares with a tool."""

    worked: bool = False
    failures: list[Result] = field(default_factory=list)


def _used(subject: Subject, names: Sequence[str]) -> dict[str, _Use]:
    found = {name: _Use() for name in names}
    for level in reversed(subject.levels) if subject.has_reference else ():
        for trace in subject.references(level, subject.seeds[:TOOL_SEEDS]):
            for _, result in results(trace):
                use = found.get(result.name)
                if use is not None:
                    use.worked = use.worked or not result.failed
                    if result.failed and len(use.failures) < MIN_TOOL_TRIES:
                        use.failures.append(result)
            if all(use.worked for use in found.values()):
                return found
    return found


def _tried(subject: Subject, names: Sequence[str]) -> dict[str, list[Result]]:
    """Return what calls of these tools bring, at the start and on the reference's way."""
    found: dict[str, list[Result]] = {name: [] for name in names}
    for level in reversed(subject.edge_levels):
        for share in (1.0, 0.0, 0.5):
            left = [name for name in names if all(result.failed for result in found[name])]
            if not left:
                return found
            for rows in explore(subject, level, share, left, rounds=ROUNDS).values():
                for result in rows.tried:
                    if result.name in found:
                        found[result.name].append(result)
    return found


@dataclass
class World:
    """What an agent can find out about one task by calling its tools."""

    pool: Pool
    tried: list[Result] = field(default_factory=list)


def explore(
    subject: Subject,
    level: int,
    share: float,
    names: Sequence[str],
    *,
    rounds: int,
    seeds: int = TOOL_SEEDS,
    told: bool = True,
    enough: Callable[[Mapping[int, World]], bool] | None = None,
) -> dict[int, World]:
    """Call the named tools, and others to learn what they take, on a few seeds.

    Args:
        subject: the environment.
        level: its level.
        share: how much of the reference is played before, in [0, 1]; never its last action.
        names: tools to call; if none of them works in the first round, all are called.
        rounds: each round knows what the one before it has shown.
        seeds: number of seeds.
        told: whether the arguments of the whole reference count as known.
        enough: says after each round whether to stop; by default once every named tool works.
    """
    worlds, prefixes = _known_before(subject, level, share, seeds, told=told)
    schemas = {tool["function"]["name"]: tool for tool in subject.interface.tools}
    for turn in range(rounds):
        called = list(schemas) if turn and rounds > 1 else list(names)
        rows = {}
        for seed, world in worlds.items():
            rng = random.Random(f"{seed}/{turn}")
            done_before = {(r.name, repr(r.arguments)) for r in world.tried}
            rows[seed] = [
                (name, arguments)
                for name in called
                for arguments in sample_calls(schemas[name], world.pool, rng)
                if (name, repr(arguments)) not in done_before
            ]
        for seed, found in try_calls(subject, level, prefixes, rows).items():
            worlds[seed].tried += found
            for result in found:
                worlds[seed].pool.read(result.text)
                if not result.failed:
                    for key, value in result.arguments.items():
                        worlds[seed].pool.note(key.casefold(), value)
        if enough is not None:
            if enough(worlds):
                break
            continue
        worked = {r.name for world in worlds.values() for r in world.tried if not r.failed}
        if worked.issuperset(names):
            break
    return worlds


def _known_before(
    subject: Subject, level: int, share: float, seeds: int, *, told: bool
) -> tuple[dict[int, World], dict[int, tuple[str, ...]]]:
    """Return by seed what is known before the search, and the actions that come before it."""
    wanted = subject.seeds[:seeds]
    worlds: dict[int, World] = {}
    prefixes: dict[int, tuple[str, ...]] = {}
    traces: Mapping[int, Trace] = {}
    if subject.has_reference:
        traces = {trace.seed or 0: trace for trace in subject.references(level, wanted)}
    for trace in subject.starts(level)[:seeds]:
        seed = trace.seed or 0
        pool = Pool()
        pool.read(_without_tools(trace.start.observation))
        pool.read(str(trace.start.info.get("user", "")))
        reference = traces.get(seed)
        done = int(share * (len(reference.actions) - 1)) if reference else 0
        prefixes[seed] = reference.actions[:done] if reference else ()
        for index, result in results(reference) if reference else ():
            if index < done:
                pool.plant(dict(result.arguments))
                pool.read(result.text)
            for key, value in result.arguments.items() if told or index < done else ():
                pool.note(key.casefold(), value)
        worlds[seed] = World(pool)
    return worlds, prefixes


def _without_tools(text: str) -> str:
    """Return a first observation without the list of the tools, whose words are no values."""
    before, listed, after = text.partition("\n\nTools")
    return f"{before}\n{after.rpartition(chr(10) * 2)[2]}" if listed else text


def _why_dead(subject: Subject, name: str, use: _Use, tries: Sequence[Result]) -> str:
    """Return why a tool is dead for certain; empty if it may only be hard to use."""
    if len(tries) < MIN_TOOL_TRIES and not use.failures:
        return ""
    if len(use.failures) >= 3:
        return "not even the reference's calls of it do"
    if _always_raises(subject.source.code, name):
        return "it raises whatever it is given"
    raw, plain = {result.text for result in tries}, {_plain(result) for result in tries}
    if 1 in (len(raw), len(plain)):
        text = tries[0].text
        if _BROKEN.search(text):
            return f"it always says {clip(tries[0].text, 80)!r}"
        if _ABSENT.search(text) and _takes_known(subject, name, tries):
            return f"it says {clip(tries[0].text, 80)!r} even of what other tools know"
    return ""


def _plain(result: Result) -> str:
    text = result.text
    for value in result.arguments.values():
        text = text.replace(str(value), "*") if str(value) else text
    return re.sub(r"\d+", "#", text)


def _always_raises(code: str, name: str) -> bool:
    """Whether a tool's method begins with a raise or with the return of an error text."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.FunctionDef) and node.name in (name, f"tool_{name}"):
            body = [
                s for s in node.body
                if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
                and not isinstance(s, ast.Pass | ast.Assign | ast.AugAssign | ast.AnnAssign)
            ]  # fmt: skip
            first = body[0] if body else None
            if isinstance(first, ast.Raise):
                return True
            if isinstance(first, ast.Return) and isinstance(first.value, ast.Constant):
                return Result(name, {}, str(first.value.value)).failed
    return False


def _takes_known(subject: Subject, name: str, tries: Sequence[Result]) -> bool:
    """Whether the tool was given values that succeed with the same parameter of another tool."""
    known: dict[str, set[str]] = {}
    for level in subject.edge_levels if subject.has_reference else ():
        for trace in subject.references(level, subject.seeds[:TOOL_SEEDS]):
            for _, result in results(trace):
                if not result.failed:
                    for key, value in result.arguments.items():
                        known.setdefault(key, set()).add(repr(value))
    given = [
        key for result in tries for key, value in result.arguments.items()
        if repr(value) in known.get(key, ())
    ]  # fmt: skip
    return len(given) >= MIN_TOOL_TRIES


# L3.16

_READS = re.compile(
    r"(?:get|list|find|search|read|readings?|look|lookup|show|view|check(?!_(?:in|out|off))|"
    r"describe|query|fetch|inspect|status|see|peek|display|browse|who|what|where|track|telemetry|manual|recipe|rule)"
    r"(?:_|$)"
)
_READ_VERBS = re.compile(
    r"^(?:get|list|find|search|read|look|show|view|check(?! (?:in|out|off))|describe|query|"
    r"fetch|inspect|see|display|browse)s?\b", re.I
)  # fmt: skip
_COSTS = re.compile(
    r"\b(costs?|budget|use[sd]? up|charge[sd]?|fees?|pay|paid|coins?|expires?|only \w+ times|"
    r"noisy?|noise|varies|random|busy|unreliable|counts? as|rate|wait|minutes?|seconds?|"
    r"jobs?|submit\w*|queue[sd]?|requests?|next|limited|times out|may fail)\b", re.I
)  # fmt: skip


_LOOKS = re.compile(
    r"\b(tools?|calls?|ask\w*|look\w*|read\w*|quer\w+|requests?|questions?|search\w*|check\w*|"
    r"measur\w+|tests?|inspect\w*|view\w*|tr(?:y|ies)|turns?|everything)\b", re.I
)  # fmt: skip


def reading_changes_nothing(subject: Subject) -> Finding:
    """L3.16: tools that only read leave no trace."""
    if not subject.interface.tools:
        return passed(NO_TOOLS)
    if not subject.has_reference:
        return skipped("needs a reference that calls the tools; add solution()")
    readers = {tool["function"]["name"] for tool in subject.interface.tools if _only_reads(tool)}
    seen: dict[str, int] = {}
    for level in subject.edge_levels:
        plans: list[tuple[str, int, Result, Trace, Job]] = []
        for trace in subject.references(level, subject.seeds[: MIN_TRACE_SEEDS + 2]):
            for name, (index, result) in _first_reads(trace, readers).items():
                said = _repeated(subject, trace, index, result)
                if said is not None:
                    plans.append((name, index, result, trace, Job(level, trace.seed, script(said))))
        played = subject.plain.run([plan[-1] for plan in plans], fresh=False)
        for (name, index, result, trace, _), again in zip(plans, played, strict=True):
            problem = _moved(subject, trace, again, index, result)
            if not problem:
                continue
            seen[name] = seen.get(name, 0) + 1
            if seen[name] >= MIN_TRACE_SEEDS:
                evidence = again.evidence()
                text = f"calling {name}, which only reads, {problem}; let reading change nothing"
                if _warns_of_cost(subject, name, trace):
                    return warned(text, tool=name, **evidence)
                return failed(text, tool=name, **evidence)
    return passed(f"{len(readers)} reading tools leave no trace")


def _only_reads(tool: Mapping[str, Json]) -> bool:
    function = tool["function"]
    text = str(function.get("description", ""))
    named = _READS.match(function["name"]) is not None
    return (named or _READ_VERBS.match(text) is not None) and not _COSTS.search(text)


def _warns_of_cost(subject: Subject, name: str, trace: Trace) -> bool:
    """Whether a sentence of the introduction speaks of what looking something up costs."""
    shown = trace.start.observation.split("Tools:")[0].split("Tools (JSON")[0]
    sentences = re.split(r"[.;:!?]\s", shown)
    return any(_COSTS.search(text) and _LOOKS.search(text) for text in sentences)


def _first_reads(trace: Trace, readers: set[str]) -> dict[str, tuple[int, Result]]:
    found: dict[str, tuple[int, Result]] = {}
    for index, result in results(trace):
        if result.name in readers and not result.failed:
            found.setdefault(result.name, (index, result))
    return found


def _repeated(subject: Subject, trace: Trace, index: int, result: Result) -> tuple[str, ...] | None:
    """Return the reference with many more calls of a reading tool before it is first called."""
    text = call(result.name, **dict(result.arguments))
    actions = trace.actions
    spare = subject.interface.max_turns - len(actions)
    if one_call_a_turn(subject.interface):
        return None if spare < 2 else (*actions[:index], *[text] * spare, *actions[index:])
    if spare > 0:
        return (*actions[:index], calls(*[text] * MANY_READS), *actions[index:])
    room = min(MANY_READS, MAX_CALLS - len(parse_calls(actions[index])))
    if room < 2:
        return None
    return (*actions[:index], calls(*[text] * room, actions[index]), *actions[index + 1 :])


def _moved(subject: Subject, trace: Trace, again: Trace, index: int, result: Result) -> str:
    """Return what more calls changed; empty if nothing."""
    if again.fault is not None:
        return ""
    if subject.score(again) < subject.score(trace):
        return f"makes the reference earn {again.total:g} instead of {trace.total:g}"
    same = [
        r for i, r in results(again)
        if i >= index and r.name == result.name and r.arguments == result.arguments
    ][:MANY_READS]  # fmt: skip
    if len({r.text for r in same}) > 1 and not any(r.failed for r in same):
        return "gives another result each time"
    return ""
