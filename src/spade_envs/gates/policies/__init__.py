"""Policies: what an agent does that knows nothing, or that knows the answer and spoils it.

The same objects serve the gates, the floors in a report and tests. A `Policy` maps a `View` to the
next action, or to None to stop.
"""

from spade_envs.gates.policies.ignorant import (
    CONSTANTS,
    GARBAGE,
    POLICIES,
    REFUSAL,
    all_candidates,
    copy_example,
    one_tool,
    random_call,
    random_grammar,
    random_words,
    sample_arguments,
)
from spade_envs.gates.policies.informed import (
    best_constant,
    degraded,
    other_seed_reference,
    replaced,
    without,
)
from spade_envs.gates.policies.view import (
    Policy,
    View,
    boxed,
    constant,
    cycle,
    echo_first,
    echo_last,
    limited,
    null,
    script,
)
from spade_envs.gates.policies.words import commands, examples, quoted, tokens, vocabulary

__all__ = [
    "CONSTANTS",
    "GARBAGE",
    "POLICIES",
    "REFUSAL",
    "Policy",
    "View",
    "all_candidates",
    "best_constant",
    "boxed",
    "commands",
    "constant",
    "copy_example",
    "cycle",
    "degraded",
    "echo_first",
    "echo_last",
    "examples",
    "limited",
    "null",
    "one_tool",
    "other_seed_reference",
    "quoted",
    "random_call",
    "random_grammar",
    "random_words",
    "replaced",
    "sample_arguments",
    "script",
    "tokens",
    "vocabulary",
    "without",
]
