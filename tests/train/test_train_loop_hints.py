"""Hints that the policy wrote in training are held to the same rule as an environment's own."""

from types import SimpleNamespace

import pytest

from spade_train.loop.hints import _joined, shown_hints
from spade_train.types import HintInformation

ONE = SimpleNamespace(size=1)
WORDS = ("marsh", "river", "desert", "tower", "stream", "burrow")


def _played(hint, answer, seed):
    return SimpleNamespace(
        job=SimpleNamespace(env="a", level=0, seed=seed, hinted=True),
        result=SimpleNamespace(fault=None),
        hint=hint,
        solution=(f"\\boxed{{{answer}}}",),
    )


@pytest.mark.parametrize(
    ("form", "withheld"),
    [("Picture the creature; it is the {}.", False), ("Picture what it eats, then decide.", True)],
)
def test_a_hint_that_tells_the_answer_is_told_apart(form, withheld):
    played = [_played(form.format(word), word, seed) for seed, word in enumerate(WORDS)]
    assert shown_hints(played, ONE)["a"].withheld is withheld


def test_few_instances_tell_nothing():
    played = [_played(f"It is the {word}.", word, seed) for seed, word in enumerate(WORDS[:4])]
    assert shown_hints(played, ONE)["a"].withheld


def test_both_the_gates_and_the_shown_hints_have_to_withhold():
    def told(withheld, reader=0.0):
        return HintInformation(words=3.0, overlap=0.1, reader_success=reader, withheld=withheld)

    assert _joined(told(True, 0.4), told(True)).withheld
    assert _joined(told(True, 0.4), told(True)).reader_success == 0.4
    assert not _joined(told(True), told(False)).withheld
    assert not _joined(told(False), told(True)).withheld
    assert _joined(None, told(False)) == told(False)
