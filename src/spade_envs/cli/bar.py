"""A bar on stderr while something long runs."""

from __future__ import annotations

from typing import Any, Self


class Bar:
    """A bar on stderr, as a context manager; silent where stderr is no terminal."""

    def __init__(self, label: str, total: int | None = None) -> None:
        from spade_envs.cli.output import progress

        self._bar: Any = progress(total, label)

    def __enter__(self) -> Self:
        self._bar.__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        self._bar.__exit__(*raised)

    def show(self, done: int, total: int) -> None:
        """Show how many versions are done."""
        self.update(completed=done, total=total)

    def update(self, **fields: Any) -> None:
        """Change what the bar shows; the fields are those of `rich.progress.Progress.update`."""
        self._bar.update(self._bar.task_ids[0], **fields)
