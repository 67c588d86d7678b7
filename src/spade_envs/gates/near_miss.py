"""Family L3, near misses: what is almost the answer does not earn what the answer earns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from spade_envs.api.tool_env import same_answer
from spade_envs.gates.alternatives import ANY_ORDER
from spade_envs.gates.fields import Field, fields_of, json_answer
from spade_envs.gates.finding import NO_REFERENCE, Finding, failed, passed, skipped, warned
from spade_envs.gates.misses import (
    EXTRA,
    FAMILIES,
    FEWER,
    LETTERS,
    MORE,
    NUMBER,
    ORDER,
    PART,
    PER_CENT,
    START,
    near_misses,
    offsets_of,
    shares_of,
)
from spade_envs.gates.nonsense import is_list, takes_any_order, takes_nonsense
from spade_envs.gates.reference import wins
from spade_envs.gates.slots import Case, Slot, items_of, slot_of
from spade_envs.gates.stats import Rate
from spade_envs.gates.subject import Subject
from spade_envs.gates.thresholds import (
    CROSS_SEED_FAIL,
    MIN_SLACK_SEEDS,
    SLACK_CONTROL,
    SLACK_SHARE,
)
from spade_envs.gates.trace import Trace
from spade_envs.intervals import wilson

SCREEN = 2
CONFIRM = 12
CONTROLS = 2
NOTHING = "nothing that anyone has asked for"

_STATED = {
    NUMBER: r"within \S+ (?:of|%|per)|toleran|approximat|roughly|estimat|\u00b1|\+/-|plus or minus"
    r"|off by|error of|margin|(?:close|near) enough",
    START: r"(?:start|begin|end)(?:s|ing)? with|first (?:letter|character|digit|two)|prefix|suffix",
    PART: r"(?:start|begin)(?:s|ing)? with|abbreviat|prefix|any part of",
    EXTRA: r"(?:must|should|that|which|message|sentence|text) (?:contain|includ|mention)|at least",
    LETTERS: r"anagram|rearrang|letters of|" + ANY_ORDER,
    ORDER: ANY_ORDER,
    FEWER: r"at least|any of|some of|(?:name|give|list|state|find|write|any|just|only) one of",
    MORE: r"at least|or more|cover|superset|containing",
}
"""Phrases in a prompt that allow what would else be slack."""
_ORDERED = re.compile(
    r"\b(?:order|sequence|rank(?:ing|ed)?|sort(?:ed)?|arranged?|from (?:\w+ ){1,2}to \w+"
    r"|one after (?:the )?other)\b",
    re.IGNORECASE,
)
_COMPARED = re.compile(
    r"\b(?:between|above|below|under|over|any|(?:greater|less|more|fewer|larger|smaller) than"
    r"|at least|at most|from \S+ to)\b",
    re.IGNORECASE,
)
"""Prompts that may ask for any number in a range."""
_WORD = re.compile(r"[\w.+-]+")
_OPTION = re.compile(r"\(?[A-Za-z0-9][).:]\s")


@dataclass(frozen=True, slots=True)
class _Slack:
    """How often one family of near misses wins on one level."""

    slot: Slot
    family: str
    won: dict[int, list[tuple[str, Trace]]]
    """Kinds of misses that won, by seed."""
    tried: tuple[Case, ...]
    control: Rate
    """How often another seed's answer wins on the same seeds."""

    @property
    def rate(self) -> Rate:
        """Share of the seeds on which some miss of the family wins."""
        return Rate.of([float(bool(self.won.get(case.seed))) for case in self.tried])

    def kinds(self) -> set[str]:
        """Return the kinds that win on most seeds."""
        counts: dict[str, int] = {}
        for found in self.won.values():
            for kind, _ in found:
                counts[kind] = counts.get(kind, 0) + 1
        return {kind for kind, count in counts.items() if count >= len(self.tried) / 2}


def near_misses_lose(subject: Subject) -> Finding:
    """L3.6: perturbed references do not earn what the reference earns."""
    if not subject.has_reference:
        return skipped(NO_REFERENCE)
    slots = [*answers_of(subject, subject.edge_levels), *_fields(subject)]
    if not slots:
        return passed("the references give no answer in words that could be varied", played=0)
    played = [
        (slot, family, trace)
        for slot in slots
        for _, family, _, trace in _played(subject, slot, slot.cases[:SCREEN])
    ]
    suspects: dict[tuple[Slot, str], None] = {}
    for slot, family, trace in played:
        if wins(subject, trace):
            suspects[slot, family] = None
    warning: Finding | None = None
    for slot, family in suspects:
        if family == ORDER and not _order_counts(slot.cases):
            continue
        finding = _judged(subject, _measured(subject, slot, family))
        if finding is not None and finding.outcome == "fail":
            return finding
        warning = warning or finding
    for slot in slots:
        finding = _any_answer_wins(subject, slot)
        if finding is not None:
            return finding
    return warning or passed(f"{len(played)} near misses lose", played=len(played))


def _any_answer_wins(subject: Subject, slot: Slot) -> Finding | None:
    """Fail if, at the end of the right way, the answers of other seeds win as well.

    Where the whole reference is one answer, L3.5 asks the same. Words that win as any others would
    are no answer.
    """
    if isinstance(slot, Field) or all(len(case.actions) == 1 for case in slot.cases):
        return None
    if not any(wins(subject, trace) for _, trace in _with_others(subject, slot, SCREEN)):
        return None
    blind = [slot.job(case, slot.form(NOTHING)) for case in slot.cases[:SCREEN]]
    if any(wins(subject, trace) for trace in subject.plain.run(blind, fresh=False)):
        return None
    slot = widened(subject, slot, CONFIRM)
    played = _with_others(subject, slot, CONFIRM)
    rate = Rate.of([float(wins(subject, trace)) for _, trace in played])
    if wilson(rate.successes, rate.trials)[0] <= CROSS_SEED_FAIL:
        return None
    case, example = next((case, trace) for case, trace in played if wins(subject, trace))
    return failed(
        f"the answer of another seed in place of the right one wins {rate.mean:.0%} at level "
        f"{slot.level}; compare the answer with the instance's own",
        other_answer=rate.as_json(),
        right_answer=case.answer,
        **example.evidence(),
    )


def _with_others(subject: Subject, slot: Slot, count: int) -> list[tuple[Case, Trace]]:
    """Play references that end in another seed's answer, a few for each of the first cases."""
    played = []
    for case in slot.cases[:count]:
        others = [slot.other(case, offset) for offset in range(len(slot.cases))]
        wrong = [text for text in others if text and not same_answer(text, case.answer)]
        played += [
            (case, slot.job(case, slot.form(text))) for text in list(dict.fromkeys(wrong))[:4]
        ]
    traces = subject.plain.run([job for _, job in played], fresh=False)
    return [(case, trace) for (case, _), trace in zip(played, traces, strict=True)]


def answers_of(subject: Subject, levels: Sequence[int]) -> list[Slot]:
    """Return the answers' places of those levels whose references end in an answer, no move."""
    found = [slot_of(subject, level) for level in levels]
    return [slot for slot in found if slot is not None and not slot.is_plan]


def _fields(subject: Subject) -> list[Slot]:
    """Return the places of values that have to be worked out and are handed in among others."""
    found: list[Slot] = []
    for level in subject.edge_levels:
        slot = slot_of(subject, level)
        if slot is None or any(map(json_answer, slot.cases[0].actions[-1:])):
            found += [field for field in fields_of(subject, level) if _is_worked_out(field)]
    return found


def _is_worked_out(field: Field) -> bool:
    """Whether nothing shows the value and it is one word or number; a message may be any text."""
    return field.hidden and all(_WORD.fullmatch(case.answer) for case in field.cases)


def _two_sided(kinds: set[str]) -> bool:
    return any({f"+{near}", f"-{near}"} <= kinds for near in ("1", *(f"{n} %" for n in PER_CENT)))


def _played(
    subject: Subject, slot: Slot, cases: Sequence[Case], family: str = ""
) -> list[tuple[Case, str, str, Trace]]:
    tried = [
        (case, kin, kind, slot.job(case, slot.form(text)))
        for case in cases
        for kin, kind, text in near_misses(slot, case)
        if family in ("", kin) and not (kin in (START, PART) and _OPTION.match(case.answer))
    ]
    traces = subject.plain.run([job for *_, job in tried], fresh=False)
    return [
        (case, kin, kind, trace) for (case, kin, kind, _), trace in zip(tried, traces, strict=True)
    ]


def widened(subject: Subject, slot: Slot, count: int) -> Slot:
    """Return a slot with `count` cases, those of further seeds added if there are too few."""
    missing = count - len(slot.cases)
    if missing <= 0:
        return slot
    seeds = [*subject.seeds, *subject.other_seeds(missing)]
    if isinstance(slot, Field):
        wider = fields_of(subject, slot.level, seeds)
        return next((field for field in wider if field.path == slot.path), slot)
    more = slot_of(subject, slot.level, seeds)
    return (
        more
        if more is not None and (more.before, more.after) == (slot.before, slot.after)
        else slot
    )


def _measured(subject: Subject, slot: Slot, family: str) -> _Slack:
    slot = widened(subject, slot, CONFIRM)
    won: dict[int, list[tuple[str, Trace]]] = {}
    tried: dict[int, Case] = {}
    for case, _, kind, trace in _played(subject, slot, slot.cases[:CONFIRM], family):
        tried[case.seed] = case
        if wins(subject, trace):
            won.setdefault(case.seed, []).append((kind, trace))
    cases = tuple(tried.values())
    return _Slack(slot, family, won, cases, control_rate(subject, slot, cases))


def control_rate(subject: Subject, slot: Slot, cases: Sequence[Case]) -> Rate:
    """Return how often the answers of other seeds win on these cases, near numbers left out."""
    jobs = []
    for case in cases:
        others = [slot.other(case, offset) for offset in range(len(slot.cases))]
        far = dict.fromkeys(text for text in others if text and not _near(text, case.answer))
        jobs += [slot.job(case, slot.form(text)) for text in list(far)[:CONTROLS]]
    return Rate.of([float(wins(subject, t)) for t in subject.plain.run(jobs, fresh=False)])


def _near(text: str, answer: str) -> bool:
    if not (offsets_of(text) and offsets_of(answer)):
        return False
    one, other = int(text), int(answer)
    return abs(one - other) <= max(abs(one), abs(other)) / 4


def _judged(subject: Subject, slack: _Slack) -> Finding | None:
    rate, family = slack.rate, slack.family
    if rate.trials < MIN_SLACK_SEEDS or slack.control.mean > SLACK_CONTROL:
        return None
    if rate.mean < SLACK_SHARE:
        return None
    stated = any(
        re.search(_STATED[family], case.shown, re.IGNORECASE) for case in slack.tried[:SCREEN]
    )
    kinds = slack.kinds()
    sure = not stated
    if family == NUMBER:
        regular = _same_slack(subject, slack)
        ranged = any(_COMPARED.search(case.shown) for case in slack.tried[:SCREEN])
        if ranged and not regular:
            return None
        if isinstance(slack.slot, Field) and not _two_sided(kinds):
            return None  # to order more than is needed may be as good
        sure = sure and (regular or any({f"+{n} %", f"-{n} %"} <= kinds for n in PER_CENT))
    elif family == ORDER:
        sure = "its items reversed" in kinds and takes_any_order(subject, slack.slot, slack.tried)
    elif family in (START, MORE) and all(map(is_list, slack.tried)):
        sure = sure and takes_nonsense(subject, slack.slot, slack.tried, kinds)
    example = next(iter(slack.won.values()))[0]
    text = (
        f"an answer with {' or '.join(sorted(kinds)) or example[0]} instead of the right one wins "
        f"{rate.mean:.0%} at level {slack.slot.level}; {FAMILIES[family]}"
    )
    make = failed if sure else warned
    return make(
        text,
        near_miss=rate.as_json(),
        control=slack.control.as_json(),
        right_answer=next(c.answer for c in slack.tried if c.seed == example[1].seed),
        **example[1].evidence(),
    )


def _order_counts(cases: Sequence[Case]) -> bool:
    """Whether the prompts ask for an order: they say so, and the references are not just sorted."""
    prompts = [case.shown for case in cases[:SCREEN]]
    if any(re.search(_STATED[ORDER], text, re.IGNORECASE) for text in prompts):
        return False
    lists = [items_of(case.answer)[1] for case in cases]
    ordered = sum(items != sorted(items, key=_natural) for items in lists) > len(lists) / 2
    return ordered and all(map(_ORDERED.search, prompts))


def _same_slack(subject: Subject, slack: _Slack) -> bool:
    """Whether the same few differences from the answer, or shares of it, win on every seed.

    A task with many right answers, such as any number in a range, shows others on each seed.
    """
    for near in (offsets_of, shares_of):
        tried = [
            (case.seed, difference, slack.slot.job(case, slack.slot.form(text)))
            for case in slack.tried
            for difference, text in near(case.answer).items()
        ]
        accepted: dict[int, set[int]] = {seed: set() for seed, *_ in tried}
        traces = subject.plain.run([job for *_, job in tried], fresh=False)
        for (seed, difference, _), trace in zip(tried, traces, strict=True):
            if wins(subject, trace):
                accepted[seed].add(difference)
        sets = {frozenset(differences) for differences in accepted.values()}
        least = MIN_SLACK_SEEDS if near is shares_of else 1
        if (
            len(sets) == 1
            and len(accepted) >= least
            and 0 < len(next(iter(sets))) < len(near("99"))
        ):
            return True
    return False


def _natural(item: str) -> list[tuple[int, str]]:
    """Return a key that sorts `a10` after `a9`."""
    return [
        (int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d{1,18})", item)
    ]
