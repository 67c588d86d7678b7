"""Policies that know a reference, and follow it badly or elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from spade_envs.gates.policies.ignorant import random_grammar
from spade_envs.gates.policies.view import Policy, View, script


def best_constant(references: Mapping[int, Sequence[str]]) -> Policy:
    """Return the policy that plays the most frequent reference, whatever is asked.

    Args:
        references: actions by seed, at least one; of equally frequent ones the first counts.

    Raises:
        ValueError: there are no references.
    """
    if not references:
        raise ValueError("a best constant needs at least one reference")
    counts = Counter(tuple(actions) for actions in references.values())
    return script(counts.most_common(1)[0][0])


def other_seed_reference(references: Mapping[int, Sequence[str]]) -> Policy:
    """Return the policy that plays the reference of the next seed whose actions differ.

    Where every other seed has the same actions, or the seed is unknown, it does not play.
    """
    seeds = list(references)

    def act(view: View) -> str | None:
        if view.seed is None or view.seed not in references:
            return None
        start = seeds.index(view.seed)
        own = list(references[view.seed])
        for seed in (*seeds[start + 1 :], *seeds[:start]):
            if list(references[seed]) != own:
                return script(references[seed])(view)
        return None

    return act


def degraded(actions: Sequence[str], share: float) -> Policy:
    """Return the policy that follows `actions`, but replaces each by a random one now and then.

    Args:
        actions: the reference.
        share: probability of a replacement at each turn, in [0, 1].

    Raises:
        ValueError: `share` is out of range.
    """
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"share must be in [0, 1], not {share}")

    def act(view: View) -> str | None:
        if view.turn >= len(actions):
            return None
        return random_grammar(view) if view.rng.random() < share else actions[view.turn]

    return act


def without(actions: Sequence[str], position: int) -> Policy:
    """Return the policy that follows `actions` but leaves one out; `position` as in a list."""
    left = list(actions)
    del left[position]
    return script(left)


def replaced(actions: Sequence[str], position: int, text: str) -> Policy:
    """Return the policy that follows `actions` but says `text` at `position`, as in a list."""
    changed = list(actions)
    changed[position] = text
    return script(changed)
