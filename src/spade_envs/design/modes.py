"""The sorts of design that can be asked for, and what each of them needs."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import get_args

from spade_envs.errors import ConfigError
from spade_envs.types import COGNITIVE_SKILLS, TOOL_SKILLS, EnvKind, Mode, Skill

MODES: tuple[Mode, ...] = get_args(Mode)

PARENTS: Mapping[Mode, int] = {"mutate": 1, "harden": 1, "ease": 1, "cross": 2}
"""Stored environments that a mode starts from; modes that are not here start afresh."""

_SKILLS: Mapping[Mode, tuple[Skill, ...]] = {
    "game": COGNITIVE_SKILLS,
    "reasoning": COGNITIVE_SKILLS,
    "tool": TOOL_SKILLS,
}

DOMAINS: Mapping[str, str] = {
    "shop-orders": "a shop's orders: customers, items, deliveries, returns, refunds",
    "travel-booking": "flights and rooms: searches, seats, dates, fares, changes, cancellations",
    "telephone-plans": "a telephone company: lines, plans, data use, faults, roaming",
    "banking": "a bank: accounts, transfers, cards, standing orders, limits, fees",
    "calendar": "calendars: meetings, people, rooms, free hours, repetitions, clashes",
    "files": "a tree of files: folders, sizes, owners, moves, copies, clean-ups",
    "shopping-cart": "a cart before the purchase: stock, quantities, vouchers, shipping, totals",
    "support-tickets": "a support desk: tickets, priorities, owners, histories, escalations",
    "smart-home": "a house: rooms, lamps, heating, blinds, scenes, schedules, sensors",
    "projects": "a project's board: tasks, owners, dates, dependencies, blocks, releases",
}
"""Where tools are used, in words for a designer."""

TASKS: Mapping[str, int] = {
    "execute": 3,
    "read-then-write": 2,
    "missing-value": 1,
    "irrelevant-request": 1,
}
"""What is particular about the user's wishes, with how often each is asked for in seven."""


def plain_mode(kind: EnvKind) -> Mode:
    """Return the mode of a fresh design of a kind that is asked for without a mode."""
    return "tool" if kind == "tool" else "game"


def skills_of(mode: Mode) -> tuple[Skill, ...]:
    """Return the skills that a mode can exercise."""
    return _SKILLS.get(mode, tuple(Skill))


def choose_modes(modes: Sequence[str], skills: Sequence[Skill]) -> tuple[Mode, ...]:
    """Return the modes to rotate through, in their canonical order, without doubles.

    Args:
        modes: wanted ones; none leaves the mode to the skill.
        skills: what is designed for.

    Raises:
        ConfigError: a mode is unknown, or exercises none of the skills.
    """
    for mode in modes:
        if mode not in MODES:
            raise ConfigError(f"unknown mode {mode!r}; known: {', '.join(MODES)}")
    chosen = tuple(mode for mode in MODES if mode in set(modes))
    for mode in chosen:
        if not set(skills_of(mode)) & set(skills):
            able = ", ".join(skills_of(mode))
            raise ConfigError(
                f"mode {mode} exercises none of the skills asked for; it can exercise {able}"
            )
    return chosen


def mode_of_attempt(seed: int, attempt: int, modes: Sequence[Mode]) -> tuple[Mode, int]:
    """Return the mode of an attempt, each once per round, and how often it came before."""
    round_, place = divmod(attempt, len(modes))
    order = list(modes)
    random.Random(f"spade-modes/{seed}/{round_}").shuffle(order)
    return order[place], round_


def tools_of_attempt(seed: int, attempt: int) -> tuple[str, str]:
    """Return domain and task of an attempt with tools: domains equally often, tasks by weight."""
    domains, tasks = list(DOMAINS), [name for name, weight in TASKS.items() for _ in range(weight)]
    found = []
    for name, items in (("domains", domains), ("tasks", tasks)):
        round_, place = divmod(attempt, len(items))
        random.Random(f"spade-{name}/{seed}/{round_}").shuffle(items)
        found.append(items[place])
    return found[0], found[1]
