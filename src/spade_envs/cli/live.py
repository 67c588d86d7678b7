"""What `generate` shows while it runs: what is certified, what refuses the others, the cost."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spade_envs.design.clients import Price
    from spade_envs.pipeline import Progress

_CAUSES = 6


class LiveRun:
    """A bar and two lines on stderr, as a context manager; silent where stderr is no terminal."""

    def __init__(self, count: int | None, price: Price | None) -> None:
        from spade_envs.cli.output import progress

        self._price = price
        self._bar: Any = progress(count, "certified")

    def __enter__(self) -> LiveRun:
        self._bar.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.__exit__(kind, error, trace)

    def show(self, state: Progress) -> None:
        """Show how far the run is."""
        self._bar.update(
            self._bar.task_ids[0],
            completed=state.accepted,
            description=describe(state, self._price),
        )


def describe(state: Progress, price: Price | None) -> str:
    """Return how far a run is: acceptance, what refuses, and what it takes."""
    done = state.accepted + state.rejected
    share = f"{state.accepted} of {done} certified" if done else "asking"
    if done:
        share += f" ({100 * state.accepted / done:.0f} %)"
    causes = sorted(state.refused.items(), key=lambda item: (-item[1], item[0]))
    named = [f"{cause} {number}" for cause, number in causes[:_CAUSES]]
    if len(causes) > _CAUSES:
        named.append(f"others {sum(number for _, number in causes[_CAUSES:])}")
    taken = [f"{state.usage.tokens:,} tokens"]
    if price is not None:
        taken.append(f"${price.cost(state.usage):.4f}")
    if state.in_flight:
        taken.append(f"{state.in_flight} being answered")
    refused = "refused by " + ", ".join(named) if named else "nothing refused"
    return f"{share}; {', '.join(taken)}\n{refused}\n"
