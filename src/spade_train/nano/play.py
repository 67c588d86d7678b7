"""How well the tiny model acts: success by family, level and hint, on fresh programs and seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from spade_envs.api.text import TextEnv
from spade_train.nano.data import load_own
from spade_train.nano.families import PLAYED, Draw, Family
from spade_train.nano.model import MAX_TOKENS
from spade_train.nano.programs import draw_condition, write_program
from spade_train.nano.sampling import Row, sample
from spade_train.nano.tokens import ASSISTANT, USER

_TURN_TOKENS = 48
_ROWS = 64
_TOOL_STEPS = 3
"""Longer episodes with tools leave the model's window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Success of the agent on one family at one level, with or without the hint."""

    family: str
    steps: int
    """Level above the family's shortest instance."""
    hinted: bool
    episodes: int
    won: int

    @property
    def success(self) -> float:
        """Share of episodes won, in [0, 1]."""
        return self.won / max(1, self.episodes)


@dataclass(slots=True)
class _Episode:
    env: TextEnv
    ids: list[int]
    seed: int
    turns: int = 0
    won: bool = False


def play_judge(
    model: Any,
    tokenizer: Any,
    *,
    episodes: int,
    seed: int,
    temperature: float = 1.0,
    families: Sequence[Family] = PLAYED,
    levels: Sequence[int] = (0, 1, 2, 3, 4, 6, 8),
) -> tuple[Cell, ...]:
    """Return one cell per family, level and hint, of `episodes` episodes each.

    A level counts steps above the family's shortest instance; each episode has its own program.
    Sampling is at `temperature` from all tokens.
    """
    cells = []
    for family in families:
        for steps in levels:
            if family.kind == "tool" and steps > _TOOL_STEPS:
                continue
            for hinted in (False, True):
                begun = [
                    _begin(tokenizer, family, steps, hinted, f"{seed}/{family.name}/{i}")
                    for i in range(episodes)
                ]
                _play(model, tokenizer, begun, temperature)
                won = sum(one.won for one in begun)
                cells.append(
                    Cell(
                        family=family.name,
                        steps=steps,
                        hinted=hinted,
                        episodes=episodes,
                        won=won,
                    )
                )
    return tuple(cells)


def play_table(cells: Sequence[Cell]) -> dict[str, Any]:
    """Return success by family, plain and hinted, as lists over the steps above the least."""
    table: dict[str, dict[str, list[float]]] = {}
    for cell in cells:
        row = table.setdefault(cell.family, {"plain": [], "hinted": []})
        row["hinted" if cell.hinted else "plain"].append(round(cell.success, 3))
    return {
        "episodes_per_cell": max((cell.episodes for cell in cells), default=0),
        "steps_above_least": sorted({cell.steps for cell in cells}),
        "success": table,
    }


def _begin(tokenizer: Any, family: Family, steps: int, hinted: bool, seed: str) -> _Episode:
    draw = Draw(seed)
    program = write_program(draw, draw_condition(draw, []), family, steps)
    env = load_own(program.code)()
    observation, _ = env.reset(seed=draw.int(0, 2**31 - 1))
    if hinted:
        observation = f"{observation}\nHint: {env.hint()}"
    return _Episode(env, _ids(tokenizer, f"{USER}{observation}{ASSISTANT}"), draw.int(0, 2**31 - 1))


def _ids(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def _play(model: Any, tokenizer: Any, begun: Sequence[_Episode], temperature: float) -> None:
    """Play all episodes to their ends."""
    live = list(begun)
    while live:
        rows = [
            Row(
                ids=tuple(one.ids),
                seed=one.seed + one.turns,
                temperature=temperature,
                max_tokens=_TURN_TOKENS,
            )
            for one in live
        ]
        end = tokenizer.eos_token_id
        said = sample(model, rows, end=end, min_p=0.0, together=_ROWS)
        going = []
        for one, turn in zip(live, said, strict=True):
            action = tokenizer.decode(list(turn.ids))
            observation, _, terminated, truncated, info = one.env.step(action)
            one.turns += 1
            one.won = bool(info.get("success"))
            one.ids += [*turn.ids, end, *_ids(tokenizer, f"{USER}{observation}{ASSISTANT}")]
            if not (terminated or truncated) and len(one.ids) < MAX_TOKENS:
                going.append(one)
        live = going
