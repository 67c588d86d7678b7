"""Family L3, leaks: the answer cannot be read off before it is earned."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from spade_envs.api.tool_env import same_answer
from spade_envs.gates.copying import copied_piece
from spade_envs.gates.disguise import shows, spellings, squeezed
from spade_envs.gates.fields import Field, fields_of
from spade_envs.gates.finding import Finding, failed, passed, warned
from spade_envs.gates.lane import Job
from spade_envs.gates.policies import Policy, View, boxed, constant, script, tokens
from spade_envs.gates.reference import answer_in, wins
from spade_envs.gates.subject import Form, Subject, answer_forms
from spade_envs.gates.thresholds import LEAK_SHARE, MIN_LEAK_ANSWERS, MIN_LEAK_SEEDS
from spade_envs.gates.trace import Trace, clip
from spade_envs.gates.withheld import ALL_ACTIONS, cores, secrets_of
from spade_envs.types import Fault, Json

CONTEXT_CHARS = 16
MAX_TOKENS = 150
MAX_LEAVES = 2000
COPY_TURNS = 2
TAINT_SEEDS = 6
TAINT_FURTHER = 24
JUNK = (("zzz",) * 6, (boxed("zzz"),) * 6, (boxed("0"),) * 6, ("give up", "hint", "skip"))
"""Worthless episodes: some environments tell the answer to a number only, or on the fifth try."""
_SHOWN_KEYS = ("user", "tool_results")
"""Keys of info that a tool environment fills with what the agent is shown anyway."""


def no_leak(subject: Subject) -> Finding:
    """L3.10: the answer does not stand at a fixed place of anything shown before it is earned."""
    warning: Finding | None = None
    for level in subject.levels:
        # A reference tells what to look for; copying blindly is then for deep checks.
        blind = not subject.has_reference or subject.depth == "deep"
        for search in (_copied_from_place, _tainted) if blind else (_tainted, copied_piece):
            leak = search(subject, level)
            if leak is not None and leak.outcome == "fail":
                return leak
            warning = warning or leak
    return warning or passed("the answer stands at no fixed place before it is earned")


# By behaviour: an agent that copies one fixed token of the first observation.


Place = tuple[str, int | str]
"""`("token", 3)`, counted from the end if negative, or `("after", "answer")`."""


def _copied_from_place(subject: Subject, level: int) -> Finding | None:
    shown = {trace.seed or 0: trace.start.observation for trace in subject.starts(level)}
    for form in answer_forms(subject, level):
        for place in _promising(subject, level, shown, form):
            traces = subject.play(_copying(place, form), level, subject.seeds, fresh=False)
            won = [trace for trace in traces if subject.score(trace) > 0.5]
            share = len(won) / len(traces)
            enough = share >= LEAK_SHARE and len(won) >= MIN_LEAK_SEEDS
            if enough and _tells_more(subject, level, place, form, shown):
                return failed(
                    f"an agent that copies {_name(place)} of the first observation wins "
                    f"{share:.0%} at level {level}; do not show the answer",
                    copied=list(place),
                    **won[0].evidence(),
                )
    return None


def _tells_more(
    subject: Subject, level: int, place: Place, form: Form, shown: dict[int, str]
) -> bool:
    """Whether the token of one's own seed wins more often than the token of the next seed."""
    seeds = list(shown)
    said = [_token_at(shown[seed], place) or "" for seed in (*seeds[1:], seeds[0])]
    jobs = [
        Job(level, seed, constant(form(word), COPY_TURNS))
        for seed, word in zip(seeds, said, strict=True)
    ]
    scores = [subject.score(trace) for trace in subject.plain.run(jobs, fresh=False)]
    return sum(scores) / len(scores) < LEAK_SHARE / 2


def _promising(subject: Subject, level: int, shown: dict[int, str], form: Form) -> list[Place]:
    """Return the places whose token wins on at least one of the first two seeds."""
    rows = {seed: tokens(text)[:MAX_TOKENS] for seed, text in shown.items()}
    places = _places(list(rows.values()))
    kept: set[Place] = set()
    for seed in subject.seeds[:2]:
        said = {place: _at(rows[seed], place) for place in places}
        words = sorted({word for word in said.values() if word is not None})
        jobs = [Job(level, seed, constant(form(word), COPY_TURNS)) for word in words]
        traces = subject.plain.run(jobs, fresh=False)
        winners = {
            word for word, trace in zip(words, traces, strict=True) if subject.score(trace) > 0.5
        }
        kept.update(place for place, word in said.items() if word in winners)
    return sorted(kept, key=str)


def _places(rows: Sequence[list[str]]) -> list[Place]:
    """Return the places whose token differs between the texts."""
    shortest = min(map(len, rows), default=0)
    found: list[Place] = [
        ("token", index)
        for index in (*range(shortest), *range(-shortest, 0))
        if len({row[index] for row in rows}) >= MIN_LEAK_ANSWERS
    ]
    words = Counter(word for row in rows for word in set(row[:-1]))
    common = sorted(word for word, count in words.items() if count == len(rows))
    for word in common:
        followers = {row[row.index(word) + 1] for row in rows if row.index(word) + 1 < len(row)}
        if len(followers) >= MIN_LEAK_ANSWERS:
            found.append(("after", word))
    return found


def _token_at(text: str, place: Place) -> str | None:
    return _at(tokens(text)[:MAX_TOKENS], place)


def _at(row: list[str], place: Place) -> str | None:
    kind, where = place
    if kind == "after":
        position = row.index(str(where)) + 1 if where in row else len(row)
    else:
        position = int(where) if int(where) >= 0 else len(row) + int(where)
    return row[position] if 0 <= position < len(row) else None


def _copying(place: Place, form: Form) -> Policy:
    def act(view: View) -> str | None:
        token = _token_at(view.first, place)
        return None if token is None or view.turn >= COPY_TURNS else form(token)

    return act


def _name(place: Place) -> str:
    kind, where = place
    return f"the word after {where!r}" if kind == "after" else f"token {where}"


# By taint: the reference's answer in anything that is shown before it is earned.


def _tainted(subject: Subject, level: int) -> Finding | None:
    """Look on a few seeds and, before anybody is refused for what they show, on more."""
    if not subject.has_reference:
        return None
    few = subject.seeds[:TAINT_SEEDS]
    found = _tainted_on(subject, level, few)
    if found is None or found.outcome != "fail":
        return found
    return _tainted_on(subject, level, [*few, *subject.other_seeds(TAINT_FURTHER)])


_Asked = tuple[str, dict[int, str], tuple[tuple[int, str, str], ...]]
"""What is looked for, under which name, and replies where only this one is looked for."""


def _tainted_on(subject: Subject, level: int, seeds: Sequence[int]) -> Finding | None:
    traces = [trace for trace in subject.references(level, seeds) if wins(subject, trace)]
    secrets = [("the answer", core) for core in cores(_answers(subject, traces))]
    secrets += [
        item
        for item in secrets_of(traces, calls=subject.interface.kind == "tool")
        if item[0] == ALL_ACTIONS
    ]
    fields = fields_of(subject, level, seeds) if level in subject.edge_levels else []
    marked = _told_in_task(level, fields)
    if marked is not None:
        return marked
    fields = [field for field in fields if field.hidden]
    asked: list[_Asked] = [(name, told, ()) for name, told in secrets]
    asked += [
        (f"the value of {field.name!r}", field.answers, tuple(_replies(subject, field)))
        for field in fields
    ]
    asked = [case for case in asked if _tells_apart(case[1])]
    if not asked:
        return None
    shown = list(_channels(subject, level, [trace.seed or 0 for trace in traces]))
    warning: Finding | None = None
    for name, told, replies in asked:
        found = _tainted_by(level, name, told, [*shown, *replies])
        if found is not None and found.outcome == "fail":
            if not _only_to_remember(subject, level, traces, found):
                return found
            found = warned(found.message, **found.evidence)
        warning = warning or found
    return warning


def _only_to_remember(subject: Subject, level: int, traces: Sequence[Trace], leak: Finding) -> bool:
    """Whether the task shows a last answer that is worth nothing without others before it.

    Nobody has to hide what is only to be remembered.
    """
    plain = leak.evidence["written"] == "as it is"
    told = plain and leak.evidence["channel"] == _TASK
    if not told or _GIVEN_AWAY.search(str(leak.evidence["after"])):
        return False
    long = [trace for trace in traces if len(trace.actions) > 1]
    if len({trace.actions[:-1] for trace in long}) < max(MIN_LEAK_ANSWERS, len(traces) // 2):
        return False
    turned = [*long[1:], *long[:1]]
    said = [
        (level, one.seed or 0, (*other.actions[:-1], one.actions[-1]))
        for one, other in zip(long, turned, strict=True)
    ]
    said += [(level, trace.seed or 0, trace.actions[-1:]) for trace in long]
    return not any(subject.score(trace) > 0 for trace in subject.replays(said))


def _replies(subject: Subject, field: Field) -> Iterator[tuple[int, str, str]]:
    """Yield seed, channel and text of the replies where one value was another seed's."""
    wrong = [(case, text) for case in field.cases if (text := field.other(case)) is not None]
    jobs = [field.job(case, text) for case, text in wrong]
    for (case, _), trace in zip(wrong, subject.plain.run(jobs, fresh=False), strict=True):
        for action, got in trace.steps[case.position :]:
            if not got.done and case.answer not in action:
                yield case.seed, _REPLY, got.observation


def _told_in_task(level: int, fields: Sequence[Field]) -> Finding | None:
    """Fail if a value that is handed in stands in the task, marked as what is looked for."""
    for field in fields:
        hits = [case for case in field.cases if _is_marked(case.answer, case.shown)]
        if len(hits) >= max(MIN_LEAK_SEEDS, LEAK_SHARE * len(field.cases)):
            return failed(
                f"the value of {field.name!r} stands in {_TASK}, marked as the answer, for "
                f"{len(hits)} of {len(field.cases)} seeds at level {level}; do not show it",
                level=level,
                channel=_TASK,
                answers={str(case.seed): clip(case.answer) for case in hits[:3]},
                shown=clip(hits[0].shown),
            )
    return None


def _is_marked(value: str, text: str) -> bool:
    """Whether a text says shortly before a value that it is what is looked for."""
    if value not in text:
        return False
    found = rf"[^\n.;]{{0,24}}?(?<!\w){re.escape(value)}(?!\w)"
    return any(re.compile(found).match(text, mark.end()) for mark in _MARK.finditer(text))


_MARK = re.compile(
    r"\b(?:debug|internal|(?:answer|solution|truth|expected|gold)\s*(?:is|=|:))", re.IGNORECASE
)


def _tells_apart(told: Mapping[int, str]) -> bool:
    return len(told) >= MIN_LEAK_SEEDS and len(set(told.values())) >= MIN_LEAK_ANSWERS


def _tainted_by(
    level: int,
    name: str,
    answers: Mapping[int, str],
    seen: Sequence[tuple[int, str, str | _Leaves]],
) -> Finding | None:
    needed = max(MIN_LEAK_SEEDS, LEAK_SHARE * len(answers))
    places: dict[tuple[str, str, str], dict[int, str]] = {}
    texts: dict[str, str] = {}
    tasks = {seed: str(found) for seed, channel, found in seen if channel == _TASK}
    for seed, channel, found in seen:
        for mark, how in sorted(_marks(found, answers[seed])) if seed in answers else ():
            if how and channel != _TASK and shows(tasks.get(seed, ""), answers[seed], how):
                continue  # it says what the task said
            places.setdefault((channel, mark, how), {})[seed] = answers[seed]
            if isinstance(found, str):
                texts[channel] = found
    warning: Finding | None = None
    task = next(iter(tasks.values()), "")
    in_task = any(channel == _TASK for channel, _, _ in places)
    for (channel, mark, how), hits in places.items():
        if len(hits) < needed or len(set(hits.values())) < MIN_LEAK_ANSWERS:
            continue
        shown = texts.get(channel, "") if channel != _REPLY else task
        if shown and how and _TRANSFORMS.get(how, _ODD_BASE).search(shown):
            continue  # to write it so, or to read it, may be the task itself
        if channel == _RESULT and (how or not _GIVEN_AWAY.search(mark)):
            continue  # tools are there to show what the answer is made of
        told_to_do = name == ALL_ACTIONS and not how and in_task
        sure = not shown or not (how or told_to_do) or channel == _REPLY or _TELLTALE.search(mark)
        finding = (failed if sure else warned)(
            f"{name} stands {how or 'as it is'} in {channel} after {mark!r} for {len(hits)} of "
            f"{len(answers)} seeds at level {level}; do not show it before it is earned",
            level=level,
            channel=channel,
            after=mark,
            written=how or "as it is",
            answers={str(seed): clip(answer) for seed, answer in [*hits.items()][:3]},
        )
        if sure:
            return finding
        warning = warning or finding
    return warning


_CONVERTS = r"convert|decod|encod|\bbase\b|radix"
_TRANSFORMS = {
    how: re.compile(words, re.IGNORECASE)
    for how, words in {
        "backwards": r"revers|backward|mirror|flip|palindrom|right to left|decod|cipher|crypt",
        "letter by letter": r"spell|letter by letter|(?:hyphen|dash)\w* between|letter at a time",
        "in rot13": r"\brot|caesar|shift|cipher|decod|crypt|alphabet|secret",
        "in base64": r"base ?64|decod|encod",
        "in base32": r"base ?32|decod|encod",
        "in hexadecimal": r"\bhex|decod|encod|bytes?\b|ascii",
        "in binary digits": rf"\bbinary|\bbits?\b|base[ -]?(?:2|two)\b|{_CONVERTS}",
        "in octal digits": rf"\boctal|base[ -]?(?:8|eight)\b|{_CONVERTS}",
        "in hexadecimal digits": rf"\bhex|base[ -]?(?:16|sixteen)\b|{_CONVERTS}",
        "with leading zeros": r"\bzeros?\b|\bpad|digit|width|format",
        "in groups of digits": r"digit|group|comma|separat|thousand|join|numeral",
        "in scientific notation": r"scientific|notation|exponent|power|float|decimal",
        "in thousands": r"\bwords?\b|spell|written|numeral|thousand",
        "as character codes": r"ascii|unicode|\bcodes?\b|character|decod",
        "digit by digit in words": r"\bwords?\b|spell|digit by digit|numeral",
        "in words": r"\bwords?\b|spell|written|numeral",
    }.items()
}
"""Words of a task in which a disguise is nothing unusual."""
_ODD_BASE = re.compile(rf"\bbase|{_CONVERTS}", re.IGNORECASE)
_TELLTALE = re.compile(
    r"debug|answer|solution|secret|target|internal|expect|hidden|gold|truth|trace|ref|hash|sig|"
    r"seed|build|key|token|check|note|log|\bid\b|meta",
    re.IGNORECASE,
)


_GIVEN_AWAY = re.compile(r"debug|expect|solution|answer|target|gold|secret", re.IGNORECASE)


def _answers(subject: Subject, traces: Sequence[Trace]) -> dict[int, str]:
    """Return each seed's answer: of the last action, or of an earlier one if that never varies."""
    for left_out in range(min((len(trace.actions) for trace in traces), default=0)):
        found = {
            trace.seed or 0: answer_in(subject, trace.actions[: len(trace.actions) - left_out])
            for trace in traces
        }
        answers = {seed: answer for seed, answer in found.items() if answer is not None}
        if len(answers) >= MIN_LEAK_SEEDS and len(set(answers.values())) >= MIN_LEAK_ANSWERS:
            return answers
    return {}


def _channels(
    subject: Subject, level: int, seeds: Sequence[int]
) -> Iterator[tuple[int, str, str | _Leaves]]:
    """Yield seed, channel and what it showed before anything was earned."""
    lane = subject.plain
    for seed, reference in zip(seeds, subject.references(level, seeds), strict=True):
        yield seed, _TASK, reference.start.observation
        yield seed, "the first info", _leaves(subject, reference.start.info)
        for _, got in reference.steps[:-1]:
            yield seed, "an info on the way", _leaves(subject, got.info)
            if subject.interface.kind == "tool":
                yield seed, _RESULT, got.observation
    if level not in subject.edge_levels:
        return  # replies and reprs come from the same code at every level
    for live in lane.begin([Job(level, seed, script(())) for seed in seeds], fresh=False):
        text = "" if live.over else lane.worker.probe(live.instance, "repr", {})
        if live.instance >= 0:
            keep = not (live.copied or live.over or isinstance(text, Fault))
            lane.give(level, live.instance, keep=keep)
        if isinstance(text, str):
            yield live.job.seed or 0, "repr(env)", _ADDRESS.sub("", text)
    jobs = [Job(level, seed, script(texts)) for seed in seeds for texts in JUNK]
    # Well formed and wrong: what another seed's reference says last.
    last = [t.actions[-1] for t in subject.references(level, seeds) if t.actions]
    turned = [*last[1:], *last[:1]]
    jobs += [
        Job(level, seed, script((text, "zzz", text)))
        for seed, text, own in zip(seeds, turned, last, strict=False)
        if text != own
    ]
    for trace in lane.run(jobs, fresh=False):
        for _, got in trace.steps:
            if not got.done:
                yield trace.seed or 0, _REPLY, got.observation
            yield trace.seed or 0, "the info after a wrong answer", _leaves(subject, got.info)
            if got.fault is not None:
                shown = f"{got.fault.message}\n{got.fault.traceback}"
                yield trace.seed or 0, "an error message", shown


_TASK = "the first observation"
_REPLY = "the reply to a wrong answer"
_RESULT = "a tool's result"


class _Leaves:
    """An info dict whose values are looked at one by one."""

    def __init__(self, info: Mapping[str, Json]) -> None:
        self.items = _flat(info, "")[:MAX_LEAVES]


def _leaves(subject: Subject, info: Mapping[str, Json]) -> _Leaves:
    """Return the leaves of an info, without what a tool environment shows in its text as well."""
    if subject.interface.kind == "tool":
        info = {key: value for key, value in info.items() if key not in _SHOWN_KEYS}
        if info.get("tools") == list(subject.interface.tools):
            del info["tools"]
    return _Leaves(info)


def _flat(value: Json, path: str) -> list[tuple[str, str]]:
    """Return place and text of every key and value; of a list also its items as one text."""
    if isinstance(value, Mapping):
        names = [(f"{path}, a key", key.replace("_", " ")) for key in value]
        return [*names, *(leaf for key, v in value.items() for leaf in _flat(v, f"{path}.{key}"))]
    if isinstance(value, list | tuple):
        joined = [sep.join(map(str, value)) for sep in ("", " ")] if len(value) > 1 else []
        items = [leaf for i, item in enumerate(value) for leaf in _flat(item, f"{path}[{i}]")]
        return [*((path, text) for text in joined), *items]
    return [(path, str(value))]


def _marks(shown: str | _Leaves, answer: str) -> set[tuple[str, str]]:
    """Return the places at which `answer` stands: paths of an info, or what precedes it in a text.

    Each comes with how it is written, empty for as it is. In a text, a place counts only if what
    precedes the answer occurs once, so that it tells the answer from its surroundings; one item of
    a list of candidates is no leak.
    """
    if isinstance(shown, _Leaves):
        same = {(path, "") for path, text in shown.items if _same(text, answer)}
        told = {
            (f"{path}: {mark}", how)
            for path, text in shown.items
            for mark, how in _text_marks(text, answer)
        }
        return same | told
    return _text_marks(shown, answer)


def _text_marks(shown: str, answer: str) -> set[tuple[str, str]]:
    marks = set()
    for how, pattern in spellings(answer, squeezed(shown)).items():
        for match in re.finditer(pattern, shown, re.IGNORECASE):
            if not tokens(shown[: match.start()]):
                marks.add((_START, how))
                continue
            before = shown[max(0, match.start() - CONTEXT_CHARS) : match.start()]
            words = re.findall(r"[^\W_]+\W*$", before)
            mark = words[-1] if words else ""
            if mark and len(re.findall(rf"(?<!\w){re.escape(mark)}", shown)) == 1:
                marks.add((mark, how))
    return marks


_START = "the start"


def _same(text: str, answer: str) -> bool:
    return same_answer(text, answer) or same_answer(" ".join(tokens(text)), answer)


_ADDRESS = re.compile(r"0x[0-9a-f]+")
