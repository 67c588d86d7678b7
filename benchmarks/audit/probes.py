"""One function for each kind of claim: tries it with seeds of its own and says what it saw."""

from __future__ import annotations

import copy
import hashlib
import json
import math
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.audit.claims import Claim
from benchmarks.audit.edits import EDITS, asked
from benchmarks.audit.libraries import Item, game, items, rlve_timeouts, single_turn

SEED = 424_242
"""First seed; the gates' own are below 2**31 and drawn from each source."""
COUNT = 200
PAIRS = 400
GAMES = 20
AFFORDED_S = 10.0
RLVE_TOP = 2
PAID = {"L0.4": 0.5, "L3.2": 0.1, "L3.3": 0.2, "L3.4": 0.2, "L3.5": 0.2, "L3.8": 0.2}
"""Mean above which each gate refuses."""
GUESSING_ANEW = 0.5
SLACK, CONTROL = 0.8, 0.2
HASH_SEEDS = ("0", "1", "2")
TURNS = 100


@dataclass(frozen=True)
class Seen:
    """Outcome of a second look."""

    confirmed: bool
    figure: str


def constant(claim: Claim, count: int = COUNT) -> Seen:
    """One text, the same for all."""
    scores = [best_of(claim, seed_item, claim.texts) for seed_item in _tasks(claim, count)]
    mean = sum(scores) / len(scores)
    full = sum(score >= 1.0 for score in scores)
    text = " / ".join(repr(text[:40]) for text in claim.texts[:3])
    return Seen(
        mean > PAID.get(claim.gate, 0.2),
        f"{text}: mean {mean:.3f}, full reward on {rate(full, len(scores))}",
    )


def best_of(claim: Claim, task: Item | int, texts: Sequence[str]) -> float:
    """Return what texts earn: the first one of an item, all in a row in a game."""
    if isinstance(task, Item):
        return task.score(texts[0])
    return min(1.0, max(0.0, _played(claim, task, texts)[1]))


def copied(claim: Claim, count: int = COUNT) -> Seen:
    """What is shown, said back: the question, its last word, or its example."""
    limit = PAID.get(claim.gate, GUESSING_ANEW)
    best = (0.0, "nothing that is shown")
    if not single_turn(claim.library):
        scores = []
        for seed in range(SEED, SEED + count):
            first = game(claim.library, claim.name, seed).first
            scores.append(best_of(claim, seed, [first]))
        best = (sum(scores) / count, "the first observation")
        return Seen(best[0] > limit, f"{best[1]} said back: mean {best[0]:.3f} of {count}")
    found = _items(claim, count)
    for name, pick in _SHOWN.items():
        said = [(item, pick(item.question)) for item in found]
        scores = [item.score(text) if text else 0.0 for item, text in said]
        best = max(best, (sum(scores) / len(scores), name))
    return Seen(best[0] > limit, f"{best[1]} said back: mean {best[0]:.3f} of {len(found)}")


def _example(question: str) -> str | None:
    named = re.findall(r"(?i)example[^`\n]{0,40}[:,]\s*`([^`\n]+)`", question)
    return named[-1] if named else None


_SHOWN: dict[str, Callable[[str], str | None]] = {
    "the question": lambda text: text,
    "its last word": lambda text: (text.split() or [""])[-1],
    "its example": _example,
}


def foreign(claim: Claim, count: int = COUNT) -> Seen:
    """Another item's answer."""
    found = [item for item in _items(claim, count) if item.answer is not None]
    pairs = [
        (one, other)
        for step in (1, 7)
        for one, other in zip(found, found[step:] + found[:step], strict=True)
        if one.question != other.question
    ][:PAIRS]
    full = sum(one.score(str(other.answer)) >= 1.0 for one, other in pairs)
    share = full / max(1, len(pairs))
    return Seen(share > PAID["L3.5"], f"full reward on {rate(full, len(pairs))} other questions")


def edited(claim: Claim, count: int = COUNT) -> Seen:
    """The item's own answer with something done to it, against another's with the same done."""
    edit = EDITS.get(claim.detail) or asked(claim.detail)
    if edit is None:
        return Seen(False, f"no second look for {claim.detail!r}; read by hand")
    found = [item for item in _items(claim, count) if item.answer]
    full = wrong = tried = 0
    example = ""
    for one, other in zip(found, found[1:] + found[:1], strict=True):
        text = edit(str(one.answer), str(other.answer))
        if text is None or text == one.answer or one.answer == other.answer:
            continue
        tried += 1
        if one.score(text) >= 1.0:
            full += 1
            example = example or f"{one.answer!r} as {text!r}"
        wrong += one.score(edit(str(other.answer), str(one.answer)) or "") >= 1.0
    share, control = full / max(1, tried), wrong / max(1, tried)
    return Seen(
        tried > 0 and share >= SLACK and control <= CONTROL,
        f"{claim.detail}: full reward on {rate(full, tried)}, a wrong answer on {wrong}; "
        f"e.g. {example[:160]}",
    )


def raises(claim: Claim, count: int = 50) -> Seen:
    """A text on which the library raises instead of answering."""
    errors: list[str] = []
    tasks = _tasks(claim, count)
    for task in tasks:
        try:
            best_of(claim, task, claim.texts)
        except Exception as error:  # noqa: BLE001
            errors.append(f"{type(error).__name__}: {str(error)[:80]}")
    text = " / ".join(repr(text[:30]) for text in claim.texts[:3])
    first = f"; {errors[0]}" if errors else ""
    return Seen(bool(errors), f"{text} raises on {len(errors)} of {len(tasks)}{first}")


def shown(claim: Claim, count: int = COUNT) -> Seen:
    """The answer stands in the question, after fixed words."""
    found = [item for item in _items(claim, count) if item.answer]
    there = 0
    for item in found:
        _, mark, rest = item.question.rpartition(claim.detail)
        there += bool(mark) and rest.strip().startswith(str(item.answer).strip())
    return Seen(
        there >= SLACK * len(found),
        f"the answer follows {claim.detail[-30:]!r} in {rate(there, len(found))} questions",
    )


def unpaid(claim: Claim, count: int = COUNT) -> Seen:
    """The library's own answer earns less than everything, changes when drawn again, or is none."""
    found, again = _items(claim, count), _items(claim, count)
    without = sum(item.answer is None for item in found)
    pairs = [(one, two) for one, two in zip(found, again, strict=True) if one.answer is not None]
    short = sum(one.score(str(one.answer)) < 1.0 for one, _ in pairs)
    anew = sum(two.score(str(one.answer)) < 1.0 for one, two in pairs if one.answer != two.answer)
    return Seen(
        without + short + anew > 0,
        f"no answer for {without} of {len(found)} items; of {len(pairs)} answers {short} earn less "
        f"than everything, and {anew} once the same item has been drawn again",
    )


def repeated(claim: Claim, count: int = COUNT) -> Seen:
    """Few different questions or first observations."""
    if single_turn(claim.library):
        firsts = {item.question for item in _items(claim, count)}
    else:
        firsts = {game(claim.library, claim.name, SEED + seed).first for seed in range(count)}
    return Seen(
        len(firsts) < 0.2 * count or len(firsts) < 3, f"{len(firsts)} different tasks of {count}"
    )


def moved(claim: Claim, count: int = 0) -> Seen:
    """The same seeds give something else: asked again, beside a neighbour, or with a hash seed."""
    count = count or (_affordable(claim) if single_turn(claim.library) else GAMES)
    said = _what_moves(claim, count)
    if said and claim.library == "rlve":  # whose given-up generators would slow what follows
        return Seen(True, "differs: " + said[0])
    here = [digests(claim, count)["all"] for _ in range(2)]
    if here[0] != here[1]:
        said.append("asked twice in one process")
    there = {part: set() for part in ("question", "answer")}
    for value in HASH_SEEDS:
        for part, digest in _elsewhere(claim, count, value).items():
            there.setdefault(part, set()).add(digest)
    for part in ("question", "answer"):
        if len(there[part]) > 1:
            said.append(f"{part} under {len(HASH_SEEDS)} values of PYTHONHASHSEED")
    return Seen(bool(said), "differs: " + "; ".join(said) if said else "the same everywhere")


def forked(claim: Claim, count: int = GAMES) -> Seen:
    """A deep copy that is made in mid-game and played like the original goes on differently."""
    parted = 0
    for seed in range(SEED, SEED + count):
        first = game(claim.library, claim.name, seed)
        for _ in range(2):
            first.say(claim.texts[0])
        second = copy.deepcopy(first)
        said = [[one.say(claim.texts[0]) for _ in range(3)] for one in (first, second)]
        parted += said[0] != said[1]
    return Seen(parted > 0, f"a copy parts from its original in {rate(parted, count)} games")


def _what_moves(claim: Claim, count: int) -> list[str]:
    """Return whether a second game, begun and played in between, changes the first."""
    if claim.library == "rlve":
        return _after_timeouts(claim)
    if single_turn(claim.library):
        return []
    texts = claim.texts or ("hello",)
    found = []
    alone = [_transcript(claim, seed, texts) for seed in range(SEED, SEED + count)]
    again = [_transcript(claim, seed, texts) for seed in range(SEED, SEED + count)]
    between = [_transcript(claim, seed, texts, beside=True) for seed in range(SEED, SEED + count)]
    same = sum(one == two for one, two in zip(alone, again, strict=True))
    kept = sum(one == two for one, two in zip(alone, between, strict=True))
    if same < count:
        found.append(f"{count - same} of {count} episodes when played again alone")
    if kept < same:
        found.append(
            f"{count - kept} of {count} episodes when another one is played in between "
            f"({same} of {count} repeat alone)"
        )
    return found


def _after_timeouts(claim: Claim) -> list[str]:
    """Return whether generators that RLVE gave up, and whose threads go on, change others."""
    easy = [item.question for item in items("rlve", claim.name, GAMES, SEED)]
    given_up = rlve_timeouts(claim.name, claim.level or RLVE_TOP, range(SEED, SEED + COUNT))
    again = [item.question for item in items("rlve", claim.name, GAMES, SEED)]
    changed = sum(one != two for one, two in zip(easy, again, strict=False))
    if not given_up or not changed:
        return []
    return [
        f"{changed} of {GAMES} easy problems while {given_up} generators that ran out of time go on"
    ]


def _transcript(claim: Claim, seed: int, texts: Sequence[str], *, beside: bool = False) -> str:
    playing = game(claim.library, claim.name, seed)
    other = game(claim.library, claim.name, seed + 5000) if beside else None
    got: list[object] = [playing.first]
    for text in (list(texts) * TURNS)[: max(8, len(texts))]:
        if other is not None and other.say(text)[2]:
            other = game(claim.library, claim.name, seed + 6000)
        reply = playing.say(text)
        got.append(reply)
        if reply[2]:
            break
    return json.dumps(got)


def digests(claim: Claim, count: int) -> dict[str, str]:
    """Return digests of what fixed seeds give, to be compared between processes."""
    parts: dict[str, list[str]] = {"question": [], "answer": []}
    if single_turn(claim.library):
        for item in _items(claim, count):
            parts["question"].append(item.question)
            parts["answer"].append(str(item.answer))
    else:
        texts = claim.texts or ("hello",)
        for seed in range(SEED, SEED + count):
            parts["question"].append(_transcript(claim, seed, texts))
    parts["all"] = parts["question"] + parts["answer"]
    return {
        key: hashlib.sha256("\0".join(value).encode()).hexdigest()[:12]
        for key, value in parts.items()
    }


def _affordable(claim: Claim) -> int:
    """Return how many items can be made in a reasonable time; some take seconds each."""
    begun = time.monotonic()
    _items(claim, 2)
    return max(4, min(COUNT, int(AFFORDED_S / max(1e-6, time.monotonic() - begun)) * 2))


def _elsewhere(claim: Claim, count: int, hash_seed: str) -> dict[str, str]:
    code = (
        "import json, sys; from benchmarks.audit.probes import digests; "
        "from benchmarks.audit.claims import Claim; claim = Claim(**json.loads(sys.argv[1])); "
        "print(json.dumps(digests(claim, int(sys.argv[2]))))"
    )
    plain = {
        key: getattr(claim, key) for key in ("library", "name", "gate", "kind", "message", "level")
    }
    plain["texts"] = list(claim.texts)
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(plain), str(count)],
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


def _items(claim: Claim, count: int) -> list[Item]:
    return items(claim.library, claim.name, count, SEED, claim.level)


def _tasks(claim: Claim, count: int) -> Sequence[Item | int]:
    if single_turn(claim.library):
        return _items(claim, count)
    return range(SEED, SEED + count)


def _played(claim: Claim, seed: int, texts: Sequence[str]) -> tuple[int, float]:
    """Say the texts in turn, over and over; gives turns and the sum of the rewards."""
    playing = game(claim.library, claim.name, seed)
    total = 0.0
    for turn in range(TURNS):
        _, reward, done = playing.say(texts[turn % len(texts)])
        total += reward
        if done:
            return turn + 1, total
    return TURNS, total


def rate(hits: int, trials: int) -> str:
    """Return `hits of trials (low-high %)` with a 95 % Wilson interval."""
    if not trials:
        return "0 of 0"
    z, share = 1.959964, hits / trials
    centre = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    half = math.sqrt(share * (1 - share) / trials + z * z / (4 * trials**2))
    half *= z / (1 + z * z / trials)
    return f"{hits} of {trials} ({max(0, centre - half):.0%}-{min(1, centre + half):.0%})"


PROBES: dict[str, Callable[[Claim], Seen]] = {
    probe.__name__: probe
    for probe in (constant, copied, foreign, edited, raises, shown, unpaid, repeated, moved, forked)
}
