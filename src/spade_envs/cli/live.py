"""What `generate` shows while it runs: what is certified, what refuses the others, the cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_envs.cli.bar import Bar

if TYPE_CHECKING:
    from spade_envs.design.clients import Price
    from spade_envs.pipeline import Progress

_CAUSES = 6


class LiveRun(Bar):
    """A bar and two lines on stderr, as a context manager; silent where stderr is no terminal."""

    def __init__(self, count: int | None, price: Price | None) -> None:
        super().__init__("certified", count)
        self._price = price

    def report(self, state: Progress) -> None:
        """Show how far the run is."""
        self.update(completed=state.accepted, description=describe(state, self._price))


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
