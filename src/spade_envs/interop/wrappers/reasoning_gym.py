"""`reasoning-gym:NAME`: one question, one answer, scored by the dataset's own scorer."""

from __future__ import annotations

import importlib

from spade_envs.interop.target import Library, Target
from spade_envs.interop.wrappers import wrapped
from spade_envs.store.lookup import closest

LIBRARY = Library(name="reasoning-gym", modules=("reasoning_gym",), licence="Apache-2.0")
LEFT_OUT = frozenset({"composite"})
"""Datasets that only combine others and need a configuration."""

# The dataset makes each item from its own seed plus the item's index. An answer is tried as it
# stands and as `answer_of` reads it, since some datasets' answers end in a full stop or quotes.
_TEMPLATE = '''\
import reasoning_gym

from spade_envs.api import TextEnv, answer_of

SIZE = 10_000
DATA = reasoning_gym.create_dataset($ident, seed=0, size=SIZE)


def verbatim(action):
    for opening, closing in (("<answer>", "</answer>"), ("\\\\boxed{", "}")):
        start, end = action.rfind(opening), action.rfind(closing)
        if 0 <= start < end:
            return action[start + len(opening) : end].strip()
    return action.strip()


class $cls(TextEnv):
    """$label: one item of the dataset."""

    max_turns = 1

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.item = DATA[self.draw_int(0, SIZE - 1)]
        return self.item["question"], {}

    def step(self, action):
        readings = dict.fromkeys((verbatim(action), answer_of(action)))
        score = max(float(DATA.score_answer(text, entry=self.item)) for text in readings)
        if score >= 1.0:
            return self.win("The answer is right.", reward=score)
        return self.lose("The answer is not right.", reward=score)

    def solution(self):
        if self.item["answer"] is None:
            raise NotImplementedError("the dataset gives no answer for this item")
        return ["<answer>" + str(self.item["answer"]) + "</answer>"]
'''


def names(rest: str) -> list[str]:
    """Return the names behind the prefix: `all`, or one or more separated by commas."""
    if rest != "all" or LIBRARY.missing():
        return rest.split(",")
    return sorted(_datasets() - LEFT_OUT)


def wrap(name: str) -> Target:
    """Return the target of one dataset; of one that the installed library lacks, an error."""
    label = f"reasoning-gym:{name}"
    known = frozenset() if LIBRARY.missing() else _datasets()
    if known and name not in known:
        near = closest(name, known)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        return Target(label=label, error=f"there is no dataset {name!r}{hint}", unknown=True)
    return wrapped(label, _TEMPLATE, LIBRARY, name, ident=name)


def _datasets() -> frozenset[str]:
    """Return the names that the library registers; none if it does not say."""
    try:
        return frozenset(importlib.import_module("reasoning_gym.factory").DATASETS)
    except ModuleNotFoundError:
        return frozenset()
