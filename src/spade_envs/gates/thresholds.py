"""Every number that decides a verdict, in one place. Changing one changes `GATES_VERSION`."""

from __future__ import annotations

RETURN_TOLERANCE = 1e-9
"""How far a reference's return may lie from the greatest one (L3.1), and a sum from its range."""

CERTIFY_SEEDS = 20
"""Seeds per level below which a report is not complete and certifies nothing."""

MIN_DISTINCT = 3
MIN_DISTINCT_SHARE = 0.2
"""Distinct tasks over the seeds of one level (L2.5): at least both."""

MAX_SAME_ACROSS_LEVELS = 0.5
"""Greatest share of seeds whose task is the same at two neighbouring levels (L2.6)."""

IMMEDIATE_FAIL = 0.1
"""Share of seeds won by submitting at once above which the goal counts as met at reset (L3.2)."""

CONSTANT_FAIL = 0.2
CONSTANT_WARN = 0.1
"""Mean score of a policy that ignores the observation (L3.3, L3.4). A guess among ten earns 0.1."""

ADAPTIVE_FAIL = 0.5
ADAPTIVE_WARN = 0.25
"""Mean score of a policy that guesses anew each turn or copies from the observation (L3.3)."""

CROSS_SEED_FAIL = 0.2
"""Share of other seeds on which a seed's reference earns the full return (L3.5)."""

LEAK_SHARE = 0.8
MIN_LEAK_SEEDS = 5
MIN_LEAK_ANSWERS = 3
"""Share of seeds (of at least so many, with so many different answers) in which the answer stands
at the same place before it is earned (L3.10)."""

CONFIRM_EPISODES = 100
"""Fresh episodes that a suspicious floor is measured again on, so that luck is not a verdict."""

MAX_SOURCE_BYTES = 262_144
MAX_MEMORY_SHARE = 0.8
"""Share of the memory limit that a worker may use after the interface gates (L1.7)."""
