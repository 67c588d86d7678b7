"""Decide what a designer is asked for; everything here is a pure function of its arguments."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Sequence
from typing import Literal, get_args

from spade_envs.design.modes import DOMAINS, PARENTS, TASKS, plain_mode, skills_of
from spade_envs.design.skills import kind_of
from spade_envs.errors import ConfigError
from spade_envs.types import Brief, EnvKind, Mode, Parent, Passage, Skill

Challenge = Literal["easy", "medium", "hard"]
CHALLENGES: tuple[Challenge, ...] = get_args(Challenge)

SUCCESS_LOW, SUCCESS_HIGH = 0.15, 0.85
"""Share of plays won between which an environment teaches most."""


def derive_seed(*parts: str | int) -> int:
    """Return a seed in [0, 2**31) that depends on the parts and their order, on nothing else."""
    digest = hashlib.sha256(json.dumps(parts).encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def build_brief(
    passage: Passage | None,
    *,
    seed: int,
    skill: Skill,
    challenge: Challenge = "medium",
    examples: Sequence[str] = (),
    avoid: Sequence[str] = (),
    mode: Mode | None = None,
    parents: Sequence[Parent] = (),
    domain: str = "",
    task: str = "",
) -> Brief:
    """Return the brief for one design; the skill decides the kind of environment.

    Args:
        passage: what the environment should take its idea from, or None.
        seed: kept in the brief, >= 0.
        skill: what the environment exercises.
        challenge: how hard it should be.
        examples: sources of good earlier environments, at most three are used.
        avoid: one line each on what not to write again, at most twelve are used.
        mode: sort of design; None for a game, or for tools that serve a user, as the skill asks.
        parents: as many as `PARENTS` says for the mode.
        domain: one of `DOMAINS` or empty; for tools only.
        task: one of `TASKS` or empty; for tools only.

    Raises:
        ConfigError: skill, parents, domain and task do not suit the mode or each other.
    """
    mode = mode or plain_mode(kind_of(skill))
    _check(skill, mode, parents, domain, task)
    return Brief(
        passage=passage,
        skill=skill,
        kind=kind_of(skill),
        challenge=challenge,
        examples=tuple(examples[:3]),
        avoid=tuple(" ".join(line.split())[:300] for line in avoid[:12]),
        seed=seed,
        mode=mode,
        parents=tuple(parents),
        domain=domain,
        task=task,
    )


def _check(skill: Skill, mode: Mode, parents: Sequence[Parent], domain: str, task: str) -> None:
    if skill not in skills_of(mode):
        raise ConfigError(f"mode {mode} exercises {', '.join(skills_of(mode))}, not {skill}")
    if len(parents) != (wanted := PARENTS.get(mode, 0)):
        raise ConfigError(f"mode {mode} takes {wanted} parents, not {len(parents)}")
    if (domain or task) and kind_of(skill) != "tool":
        raise ConfigError(f"{skill} is exercised without tools, so it has no domain and no task")
    for name, value, known in (("domain", domain, DOMAINS), ("task", task, TASKS)):
        if value and value not in known:
            raise ConfigError(f"unknown {name} {value!r}; known: {', '.join(known)}")


def choose_skills(skills: Sequence[Skill | str], kinds: Sequence[EnvKind]) -> tuple[Skill, ...]:
    """Return the skills to design for, in their canonical order, without doubles.

    Args:
        skills: wanted ones; every skill if empty.
        kinds: kinds of environment to keep; every kind if empty.

    Raises:
        ConfigError: an unknown skill or kind, or nothing is left.
    """
    unknown = [str(name) for name in skills if str(name) not in set(Skill)]
    if unknown:
        raise ConfigError(f"unknown skill {unknown[0]!r}; known: {', '.join(Skill)}")
    bad = [kind for kind in kinds if kind not in get_args(EnvKind)]
    if bad:
        raise ConfigError(f"unknown kind {bad[0]!r}; known: {', '.join(get_args(EnvKind))}")
    wanted = {str(name) for name in skills} or set(Skill)
    left = tuple(s for s in Skill if s in wanted and (not kinds or kind_of(s) in kinds))
    if not left:
        raise ConfigError(f"none of the skills given is exercised by kind {', '.join(kinds)}")
    return left


def skill_of_attempt(seed: int, attempt: int, skills: Sequence[Skill]) -> Skill:
    """Return the skill of an attempt: each one once per round, in a shuffled order."""
    round_, place = divmod(attempt, len(skills))
    order = list(skills)
    random.Random(f"spade-skills/{seed}/{round_}").shuffle(order)
    return order[place]


def challenge_of_attempt(seed: int, attempt: int) -> Challenge:
    """Return the challenge of an attempt, all three equally often."""
    return CHALLENGES[derive_seed("challenge", seed, attempt) % len(CHALLENGES)]
