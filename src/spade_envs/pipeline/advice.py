"""What to change about a run, from what was refused in it."""

from __future__ import annotations

from collections.abc import Mapping

MANY = 0.1
"""Share of the attempts from which a cause is worth advice."""

_STAGES: Mapping[str, str] = {
    "corpus": "Documents were changed or removed while the run drew from them: give it a copy. "
    "The next start reads them anew, and is another run.",
    "client": "The server failed although it was asked again: look at its log, lower --concurrency "
    "or set --requests-per-minute and --tokens-per-minute; the same command makes these attempts.",
    "parse": "Answers hold no whole program: raise --max-tokens if they are cut off or lost in "
    "thought; else the model does not keep to the format, and --guided or --repair-turns helps.",
    "novelty": "The model repeats itself: raise --temperature, give it more documents or skills, "
    "or take a larger model. --crowd and --apart say how much alike the store takes.",
}
_GATES: Mapping[str, str] = {
    "L0.1": "Programs do not load: --repair-turns 1 shows the model the line and the error.",
    "L0.2": "Programs want more than an environment may do (imports, files): --repair-turns 1; "
    "a model that insists on it does not follow the contract.",
    "L0.3": "Programs draw from global randomness or the clock instead of their seed: "
    "--repair-turns 1 mends this as a rule.",
    "L2.5": "Environments repeat a few tasks: ask for more variety through longer documents.",
    "L3.1": "Reference solutions do not win, or are missing: the model is not sure of its own "
    "task. --repair-turns 2, a lower --temperature, or a stronger model.",
    "L3.3": "Guessing pays: tasks have too few possible answers. See `rejected --gate L3.3`.",
    "L3.4": "One constant answer wins too often: tasks have too few possible answers.",
    "L3.10": "Prompts give the answer away: look at some with `rejected --gate L3.10`.",
    "L3.11": "The format of the answer is not stated in the prompt: --repair-turns 1.",
}
_FAMILIES: Mapping[str, str] = {
    "L0": "Programs are not plain environments yet: --repair-turns 1 shows the model what failed.",
    "L1": "The interface is not kept to: --repair-turns 1 shows the model the call that broke it.",
    "L2": "Episodes do not repeat: the model keeps state between them or draws without the seed. "
    "--repair-turns 1.",
    "L3": "Grading is wrong or can be cheated: --repair-turns 1, or a stronger model; look at some "
    "with `spade-envs rejected`.",
    "L4": "Hints give the answer away or do not help: --repair-turns 1.",
    "L5": "Environments are near copies: raise --temperature, give more documents or skills.",
}


def advice_for(cause: str) -> str:
    """Return what to change if a cause, a stage or the id of a gate, refuses many designs."""
    if cause in _STAGES:
        return _STAGES[cause]
    found = _GATES.get(cause) or _FAMILIES.get(cause.partition(".")[0])
    return found or "Look at some of them with `spade-envs rejected`."
