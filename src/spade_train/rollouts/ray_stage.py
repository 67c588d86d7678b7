"""`RayStage`: a stage whose environments run in the workers of a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from spade_envs.play.stage import Opened, Seat
from spade_envs.types import StepOutcome
from spade_train.rollouts.ray_cluster import Entry, RayCluster


class RayStage:
    """Plays on a cluster, with the results of a local `Stage`.

    What an environment was asked is kept in a journal while it matters. If a worker is
    lost, another one does the same again and goes on: environments are deterministic, so nothing
    changes.
    """

    def __init__(self, cluster: RayCluster) -> None:
        self._cluster = cluster
        self._homes: dict[str, int] = {}
        self._journals: dict[str, list[Entry]] = {}
        self._worn: set[str] = set()
        self._envs: dict[str, str] = {}

    def open(self, seats: Sequence[Seat]) -> list[Opened]:
        """Begin episodes; see `Scene`."""
        for seat in seats:
            self._envs[seat.key] = seat.env
            self._settle(seat.env)
        found: list[Opened] = self._everywhere("open", seats, lambda seat: seat.env)
        for seat, opened in zip(seats, found, strict=True):
            if opened.fault is not None or opened.hint_fault is not None:
                self._worn.add(seat.env)
        return found

    def step(self, moves: Sequence[tuple[str, str]]) -> list[StepOutcome]:
        """Take one step in each; see `Scene`."""
        found: list[StepOutcome] = self._everywhere("step", moves, lambda move: self._envs[move[0]])
        for (key, _), outcome in zip(moves, found, strict=True):
            if outcome.fault is not None:
                self._worn.add(self._envs[key])
        return found

    def leave(self, keys: Iterable[str]) -> None:
        """Forget episodes."""
        known = [key for key in keys if key in self._envs]
        for host, rows in self._by_host(known, lambda key: self._envs[key]).items():
            self._cluster.ask(host, "leave", [known[row] for row in rows])
        self._note("leave", known, lambda key: self._envs[key])
        left = {self._envs.pop(key) for key in known}
        for env in left - set(self._envs.values()) - self._worn:
            del self._journals[env]  # as good as new: nothing of it need be done again

    def close(self) -> None:
        """Forget everything; the workers stay for the next stage."""
        for host in sorted(set(self._homes.values())):
            self._cluster.ask(host, "clear", [])
        self._envs.clear()
        self._homes.clear()
        self._journals.clear()
        self._worn.clear()

    def _settle(self, env: str) -> None:
        """Give an environment a home: where the fewest episodes are in play."""
        self._journals.setdefault(env, [])
        if env in self._homes:
            return
        busy = [0] * len(self._cluster.hosts)
        for other in self._envs.values():
            if other in self._homes:
                busy[self._homes[other]] += 1
        self._homes[env] = busy.index(min(busy))

    def _everywhere(
        self, name: str, items: Sequence[Any], env_of: Callable[[Any], str]
    ) -> list[Any]:
        """Ask all hosts at once; return the answers in the order of the items."""
        by_host = self._by_host(items, env_of)
        parts = {host: [items[row] for row in rows] for host, rows in by_host.items()}
        calls = {host: self._cluster.ask(host, name, part) for host, part in parts.items()}
        found: list[Any] = [None] * len(items)
        for host, rows in by_host.items():
            answers = self._cluster.answer(calls[host], host, name, parts[host], self._journal)
            for row, answer in zip(rows, answers, strict=True):
                found[row] = answer
        self._note(name, items, env_of)
        return found

    def _by_host(self, items: Sequence[Any], env_of: Callable[[Any], str]) -> dict[int, list[int]]:
        rows: dict[int, list[int]] = {}
        for row, item in enumerate(items):
            rows.setdefault(self._homes[env_of(item)], []).append(row)
        return rows

    def _note(self, name: str, items: Sequence[Any], env_of: Callable[[Any], str]) -> None:
        by_env: dict[str, list[Any]] = {}
        for item in items:
            by_env.setdefault(env_of(item), []).append(item)
        for env, part in by_env.items():
            self._journals[env].append((name, part))

    def _journal(self, host: int) -> list[Entry]:
        homes = self._homes
        return [e for env, book in self._journals.items() if homes[env] == host for e in book]
