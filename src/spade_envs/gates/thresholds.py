"""Every number that decides a verdict, in one place. Changing one changes `GATES_VERSION`."""

from __future__ import annotations

RETURN_TOLERANCE = 1e-9
"""How far a reference's return may lie from the greatest one (L3.1), and a sum from its range."""

CERTIFY_SEEDS = 20
"""Seeds per level below which a report is not complete and certifies nothing."""

MIN_DISTINCT = 3
MIN_DISTINCT_SHARE = 0.2
"""Distinct tasks over the seeds of one level (L2.5): at least so many, and more than the share."""

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
CONFIRM_FURTHER = 1000
CONFIRM_PAIRS = 100
"""Fresh episodes that a suspicious floor is measured again on, so many of them in all where it is
above the limit, but its interval is not (L3.3, L3.4), and seeds with fresh references (L3.5): luck
is not a verdict."""

MAX_SOURCE_BYTES = 262_144
MAX_MEMORY_SHARE = 0.8
"""Share of the memory limit that a worker may use after the interface gates (L1.7)."""

HINT_SEEDS = 6
"""Seeds per level whose hints are read (L4.1, L4.3)."""

HINT_COPY_FAIL = 0.5
HINT_COPY_WARN = 0.25
"""How much more copying from the seed's own hint may earn than copying from another's (L4.2)."""

LADDER_RUNGS = (0.8, 0.5, 0.2)
LADDER_SEEDS = 4
LADDER_STEPS = 4
LADDER_FAIL = 0.9
"""Chances of a random action in place of the reference's, seeds for each, length of a reference
without calls from which the first counts, and the mean score at which it fails (L4.4)."""

SLACK_SHARE = 0.8
SLACK_CONTROL = 0.2
MIN_SLACK_SEEDS = 5
"""A near miss is accepted if it wins on this share of the seeds (of at least so many) while a
different answer of the same shape wins on no more than the second share (L3.6, L3.7)."""

TOOL_SEEDS = 3
MIN_TOOL_TRIES = 6
MIN_TRACE_SEEDS = 3
"""Seeds on which tools are tried (L3.13, L3.15), failed calls after which a tool may count as dead
(L3.13), and seeds on which a reading tool must have left a trace (L3.16)."""

MIN_VALUE_SEEDS = 4
"""Seeds on which a value must be shown nowhere before it counts as impossible to find (L3.15)."""

FORMAT_SHARE = 0.8
"""Share of the references that use a word or sign which makes it part of the format (L3.11)."""

FARM_SHARE = 0.2
FARM_PAYMENTS = 3
"""Share of the greatest return, in so many payments, that a circle of actions may not earn if it
leads nowhere (L3.12)."""

SMELL_CONFIRMED = 0.5
"""Mean score of a text taken from the source above which the pattern that it comes from counts as
a careless grader (L0.4)."""

LASTING_JUMPS = (40, 100, 1000, 1_000_000, -2_000_000_000)
"""By how much a counter that outlives episodes is set forward, one after the other (L1.8)."""
LIVES, LASTING_LIVES = (300, 0.03), (12_000, 0.75)
"""Rounds, of some two episodes each, and most seconds that the lowest and the highest level are
played on for (L1.8): as a rule, and where something is seen to outlive its episodes."""

SAME_SHARE = 0.9
SAME_TASKS = 6
"""Share of fixed seeds whose answers and rewards agree from which two environments count as the
same, if they have at least so many different ones (L5.1)."""

GRAM_WORDS = 8
OVERLAP_FAIL = 0.5
OVERLAP_WARN = 0.2
"""Words in a row that are compared with evaluation texts, and the share of a text's sequences of
them that one first observation holds (L5.2)."""

ALTERNATIVE_SEEDS = 6
MIN_REFUSED_SEEDS = 3
"""Seeds on which other right answers are played, and on how many a checker or prompt must be
contradicted (L3.17); what the environment itself lists in alternatives() must always win."""

MIN_ALIKE_SEEDS, MIN_ALIKE_ANSWERS = 5, 3
"""Seeds that show the same text, and different answers among them, from which on nobody can know
the answer (L3.15)."""
