"""Family L3, leaks: the answer cannot be read off before it is earned."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from spade_envs.gates.finding import Finding, failed, passed
from spade_envs.gates.lane import Job, Lane
from spade_envs.gates.policies import Policy, View, boxed, script, tokens
from spade_envs.gates.reference import final_answer, wins
from spade_envs.gates.subject import Subject
from spade_envs.gates.thresholds import LEAK_SHARE, MIN_LEAK_ANSWERS, MIN_LEAK_SEEDS
from spade_envs.gates.trace import Trace, clip
from spade_envs.types import Fault, Json

CONTEXT_CHARS = 16
MAX_TOKENS = 150
MAX_LEAVES = 2000
JUNK = ("zzz", boxed("zzz"))
_UNSEEN_KEYS = ("tools", "user", "tool_results")
"""Keys of info that a tool environment fills with what the agent is shown anyway."""


def no_leak(subject: Subject) -> Finding:
    """L3.10: the answer does not stand at a fixed place of anything shown before it is earned."""
    for level in subject.levels:
        for search in (_copied_from_place, _tainted):
            leak = search(subject, level)
            if leak is not None:
                return leak
    return passed("the answer stands at no fixed place before it is earned")


# By behaviour: an agent that copies one fixed token of the first observation.


def _copied_from_place(subject: Subject, level: int) -> Finding | None:
    starts = subject.play(script(()), level, subject.seeds, fresh=False)
    shown = {trace.seed or 0: trace.start.observation for trace in starts}
    for place in _places(list(shown.values())):
        for form in (boxed, str):
            score = _place_score(subject, level, place, form)
            if score is not None:
                kept, trace = score
                return failed(
                    f"an agent that copies {_name(place)} of the first observation wins {kept:.0%} "
                    f"at level {level}; do not show the answer",
                    level=level,
                    copied=list(place),
                    episode=trace.evidence(),
                )
    return None


Place = tuple[str, int | str]
"""`("token", 3)`, counted from the end if negative, or `("after", "answer")`."""


def _places(texts: Sequence[str]) -> list[Place]:
    """Return the places whose token differs between the texts."""
    rows = [tokens(text)[:MAX_TOKENS] for text in texts]
    shortest = min(map(len, rows), default=0)
    found: list[Place] = [
        ("token", index)
        for index in (*range(shortest), *range(-shortest, 0))
        if len({row[index] for row in rows}) >= MIN_LEAK_ANSWERS
    ]
    words = Counter(word for row in rows for word in set(row[:-1]))
    common = [word for word, count in words.items() if count == len(rows)]
    for word in common:
        followers = {row[row.index(word) + 1] for row in rows if row.index(word) + 1 < len(row)}
        if len(followers) >= MIN_LEAK_ANSWERS:
            found.append(("after", word))
    return found


def _token_at(text: str, place: Place) -> str | None:
    row = tokens(text)[:MAX_TOKENS]
    kind, where = place
    if kind == "after":
        position = row.index(str(where)) + 1 if where in row else len(row)
    else:
        position = int(where) if int(where) >= 0 else len(row) + int(where)
    return row[position] if 0 <= position < len(row) else None


def _copying(place: Place, form: Callable[[str], str]) -> Policy:
    def act(view: View) -> str | None:
        token = _token_at(view.first, place)
        return None if token is None else form(token)

    return act


def _place_score(
    subject: Subject, level: int, place: Place, form: Callable[[str], str]
) -> tuple[float, Trace] | None:
    """Return share and a won episode if copying from `place` wins nearly always, else None."""
    policy = _copying(place, form)
    needed = LEAK_SHARE * subject.seed_count
    lost, won = 0, []
    for seed in subject.seeds:
        trace = subject.play(policy, level, [seed], fresh=False)[0]
        if subject.score(trace) > 0.5:
            won.append(trace)
        else:
            lost += 1
        if subject.seed_count - lost < needed or lost > len(won) + 1:
            return None
    return (len(won) / subject.seed_count, won[0]) if len(won) >= MIN_LEAK_SEEDS else None


def _name(place: Place) -> str:
    kind, where = place
    return f"the word after {where!r}" if kind == "after" else f"token {where}"


# By taint: the reference's answer in anything that is shown before it is earned.


def _tainted(subject: Subject, level: int) -> Finding | None:
    answers: dict[int, str] = {}
    if subject.has_reference:
        for trace in subject.references(level):
            answer = final_answer(trace.actions) if wins(subject, trace) else None
            if answer is not None:
                answers[trace.seed or 0] = answer
    if len(answers) < MIN_LEAK_SEEDS or len(set(answers.values())) < MIN_LEAK_ANSWERS:
        return None
    needed = LEAK_SHARE * len(answers)
    counts: Counter[tuple[str, str]] = Counter()
    for seed, answer in answers.items():
        for channel, found in _channels(subject, level, seed):
            counts.update({(channel, mark) for mark in _marks(found, answer)})
    for (channel, mark), count in counts.most_common():
        if count >= needed:
            return failed(
                f"the answer stands in {channel} after {mark!r} for {count} of {len(answers)} "
                f"seeds at level {level}; do not show it before it is earned",
                level=level,
                channel=channel,
                after=mark,
                example={"seed": next(iter(answers)), "answer": clip(next(iter(answers.values())))},
            )
    return None


def _channels(subject: Subject, level: int, seed: int) -> Iterator[tuple[str, str | Json]]:
    """Yield what could be seen of an episode before anything was earned, by channel."""
    lane = subject.plain
    reference = subject.references(level, [seed])[0]
    yield "the first observation", reference.start.observation
    yield "the first info", _Leaves(reference.start.info)
    yield "repr(env)", _repr(lane, level, seed)
    jobs = [Job(level, seed, script((text,))) for text in JUNK]
    for trace in lane.run(jobs, fresh=False):
        for _, got in trace.steps:
            if not got.done:
                yield "the reply to a wrong answer", got.observation
            yield "the info after a wrong answer", _Leaves(got.info)
            if got.fault is not None:
                yield "an error message", f"{got.fault.message}\n{got.fault.traceback}"
    for _, got in reference.steps[:-1]:
        yield "an info on the way", _Leaves(got.info)


class _Leaves:
    """An info dict whose values are looked at one by one."""

    def __init__(self, info: Mapping[str, Json]) -> None:
        shown = {key: value for key, value in info.items() if key not in _UNSEEN_KEYS}
        self.items = _flat(shown, "")[:MAX_LEAVES]


def _flat(value: Json, path: str) -> list[tuple[str, str]]:
    if isinstance(value, Mapping):
        return [leaf for key, item in value.items() for leaf in _flat(item, f"{path}.{key}")]
    if isinstance(value, list | tuple):
        return [leaf for i, item in enumerate(value) for leaf in _flat(item, f"{path}[{i}]")]
    return [(path, str(value))]


def _marks(shown: str | Json, answer: str) -> set[str]:
    """Return the places at which `answer` stands: paths of an info, or what precedes it in a text.

    In a text, a place counts only if what precedes the answer occurs once, so that it tells the
    answer from its surroundings; one item of a list of candidates is no leak.
    """
    if isinstance(shown, _Leaves):
        return {path for path, text in shown.items if _same(text, answer)}
    marks = set()
    text = str(shown)
    for match in re.finditer(rf"(?<!\w){re.escape(answer)}(?!\w)", text):
        before = text[max(0, match.start() - CONTEXT_CHARS) : match.start()]
        words = re.findall(r"[^\W\d_]+\W*$", before)
        mark = words[-1] if words else ""
        if mark and len(re.findall(rf"(?<!\w){re.escape(mark)}", text)) == 1:
            marks.add(mark)
    return marks


def _same(text: str, answer: str) -> bool:
    return text.strip().casefold() == answer.strip().casefold()


_ADDRESS = re.compile(r"0x[0-9a-f]+")


def _repr(lane: Lane, level: int, seed: int) -> str:
    live = lane.begin([Job(level, seed, script(()))])[0]
    text = "" if live.over else lane.worker.probe(live.instance, "repr", {})
    live.close()
    return "" if isinstance(text, Fault) else _ADDRESS.sub("", str(text))
