"""How much of a reference solution stands in its hints: a figure to log beside regret."""

from __future__ import annotations

import re
from collections.abc import Sequence

from spade_train.errors import DataError
from spade_train.types import HintInformation

_WORD = re.compile(r"[^\W_]+")


def hint_information(
    texts: Sequence[str],
    solutions: Sequence[Sequence[str]],
    *,
    reader_success: float = 0.0,
    withheld: bool = True,
) -> HintInformation:
    """Return how much the hints of several instances of one environment give away.

    The overlap is the share of a reference's words that stand in its own instance's hint in the
    same order, less the share that stands in the hints of the other instances (which hold the
    words of the format, too), as a part of what could be given away. With one instance nothing is
    subtracted. It reads words, no spellings: answers in disguise are the gates' business.

    Args:
        texts: one hint per instance, at least one.
        solutions: the reference's actions for each instance.
        reader_success: success rate of a policy that reads only the hint, in [0, 1].
        withheld: whether the gates on hints passed.

    Raises:
        DataError: no instance, unequal numbers, or a rate outside [0, 1].

    Source: ours.
    """
    if not texts or len(texts) != len(solutions):
        raise DataError(f"{len(texts)} hints for {len(solutions)} references")
    if not 0.0 <= reader_success <= 1.0:
        raise DataError(f"a success rate lies in [0, 1], not {reader_success}")
    hints = [_words(hint) for hint in texts]
    references = [_words(" ".join(actions)) for actions in solutions]
    told = [_own_share(hints, references, place) for place in range(len(hints))]
    return HintInformation(
        words=sum(map(len, hints)) / len(hints),
        overlap=sum(told) / len(told),
        reader_success=reader_success,
        withheld=withheld,
    )


def _own_share(hints: list[list[str]], references: list[list[str]], place: int) -> float:
    reference = references[place]
    own = _in_order(reference, hints[place])
    others = [_in_order(reference, hint) for at, hint in enumerate(hints) if at != place]
    usual = sum(others) / len(others) if others else 0.0
    return max(0.0, own - usual) / (1.0 - usual) if usual < 1.0 else 0.0


def _in_order(reference: list[str], hint: list[str]) -> float:
    """Return the length of the longest common subsequence, as a share of the reference."""
    if not reference:
        return 0.0
    row = [0] * (len(hint) + 1)
    for word in reference:
        diagonal = 0
        for place, other in enumerate(hint, start=1):
            best = diagonal + 1 if word == other else max(row[place], row[place - 1])
            diagonal, row[place] = row[place], best
    return row[-1] / len(reference)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
