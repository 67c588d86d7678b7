"""Games by text: TextArena for one player, and BabyAI's levels told in words.

Foreign code, loaded in a killable process (`worker`). Actions are names or text, never code.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import random
import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from spade_envs.errors import ConfigError
from spade_envs.types import Json, Message
from spade_train.suites.arena_moves import ARENA_BEST, ARENA_RANDOM
from spade_train.suites.base import Decoding, Fault, Said, Score, Task
from spade_train.suites.single import boxed

TEXTARENA = (
    "GuessTheNumber-v0",
    "TowerOfHanoi-v0",
    "Minesweeper-v0",
    "Mastermind-v0",
    "FrozenLake-v0",
    "LightsOut-v0",
)
BABYAI = (
    "GoToRedBallGrey",
    "GoToLocal",
    "PickupLoc",
    "OpenDoor",
    "PutNextLocal",
    "UnlockLocal",
)
MOVES = ("left", "right", "forward", "pickup", "drop", "toggle")
SETTINGS: Mapping[str, str] = {
    "games": "names, with commas between them",
    "episodes": "instances of each game; 20 if none",
}
_SEED = 1_000_000
_RULES = (
    "You are in a grid world. You see what is ahead of you, up to six cells far and three to each "
    "side. In each turn answer with one action in \\boxed{}: left or right (turn), forward, "
    "pickup, drop, toggle (open or close what is right ahead).\nYour mission: "
)


class Game(Protocol):
    """One instance under way."""

    over: bool
    value: float
    won: bool

    def act(self, said: Said) -> str:
        """Take one action and return what is seen then."""
        ...

    def reference(self) -> Said | None:
        """Return the best action, if anybody knows it."""
        ...

    def random(self, rng: random.Random) -> Said:
        """Return a random action of the right form."""
        ...


def textarena(*, games: Sequence[str] | str = TEXTARENA, episodes: int = 20) -> Games:
    """Return games of TextArena for one player; the last reward, cut to [0, 1], is the value."""
    return Games("textarena", "textarena", named(games), episodes, Arena, 100, ours=2)


def babyai(*, games: Sequence[str] | str = BABYAI, episodes: int = 20) -> Games:
    """Return levels of BabyAI told in words; the value is 1 for a mission done in time."""
    return Games("babyai", "minigrid", named(games), episodes, Baby, 128)


class Games:
    """Games, with the same instances for everybody."""

    def __init__(
        self,
        name: str,
        package: str,
        games: Sequence[str],
        episodes: int,
        form: Any,
        max_turns: int,
        ours: int = 1,
    ) -> None:
        if not games or type(episodes) is not int or episodes < 1:
            raise ConfigError("games must be named, and episodes be a whole number >= 1")
        self.name, self._form = name, form
        self.version = f"{package} {importlib.metadata.version(package)} + {ours}"
        self.settings: Mapping[str, Json] = {"games": list(games), "episodes": episodes}
        self.labels: Mapping[str, str] = {}
        self.decoding = Decoding(temperature=1.0, max_tokens=8192, max_turns=max_turns)
        self._tasks = [
            Task(f"{game}/{n}", game, {"seed": _SEED + n})
            for n in range(episodes)
            for game in games
        ]

    def tasks(self) -> Sequence[Task]:
        """Return the first instance of every game before the second of any."""
        return self._tasks

    def open(self, task: Task, *, seed: int) -> GameSession | Fault:
        """Begin the task's instance, whatever the seed of the attempt."""
        game, shown = self._form.begin(task.group, task.detail["seed"])
        return GameSession(game, shown)

    def close(self) -> None:
        """Nothing is held."""


class GameSession:
    """One game as a conversation."""

    def __init__(self, game: Game, shown: str) -> None:
        self._game = game
        self._messages = [Message("user", shown)]

    @property
    def messages(self) -> tuple[Message, ...]:
        """What was seen and done."""
        return tuple(self._messages)

    @property
    def done(self) -> bool:
        """Whether the game is over."""
        return self._game.over

    def reply(self, said: Said) -> None:
        """Take one action."""
        if self._game.over:
            return
        self._messages.append(Message("assistant", said))
        seen = self._game.act(said)
        if not self._game.over:
            self._messages.append(Message("user", seen))

    def score(self) -> Score:
        """Return the value of the game; nothing before its end."""
        game = self._game
        return Score(value=game.value if game.over else 0.0, success=game.over and game.won)

    def reference(self) -> Said | None:
        """Return the best action."""
        return self._game.reference()

    def random(self, rng: random.Random) -> Said:
        """Return a random action."""
        return self._game.random(rng)

    def close(self) -> None:
        """Nothing is held."""


class Arena:
    """A game of TextArena.

    Its games draw from the process's generator, which they seed at the start. Each finds it here as
    it left it, so that games under way at once do not disturb each other. What a game shows holds
    all that it showed before; here only what is new is told.
    """

    def __init__(self, env: Any, kind: str) -> None:
        self._env, self._kind = env, kind
        self._seen = str(env.get_observation()[1])
        self._drawn = random.getstate()
        self.over, self.value, self.won = False, 0.0, False

    @classmethod
    def begin(cls, name: str, seed: int) -> tuple[Arena, str]:
        """Start a game; return it and what is seen."""
        env = importlib.import_module("textarena").make(name)
        env.reset(num_players=1, seed=seed)
        game = cls(env, name.partition("-")[0])
        return game, game._seen

    def act(self, said: Said) -> str:
        """Hand the reply to the game as it is."""
        random.setstate(self._drawn)
        done, _ = self._env.step(said)
        before = self._seen
        self._seen = "" if done else str(self._env.get_observation()[1])
        self._drawn = random.getstate()
        if not done:
            return self._seen.removeprefix(before).strip() or self._seen
        rewards, _ = self._env.close()
        reward = float(rewards[0])
        self.over, self.value, self.won = True, min(1.0, max(0.0, reward)), reward >= 1.0
        return ""

    def reference(self) -> Said | None:
        """Return the move of one who sees the hidden state; None for games that are not known."""
        known = ARENA_BEST.get(self._kind)
        best = known(self._inside()) if known else None
        return None if best is None else f"[{best}]"

    def random(self, rng: random.Random) -> Said:
        """Return a random move; in games that are not known, numbers, as most of them want."""
        if (known := ARENA_RANDOM.get(self._kind)) is not None:
            return f"[{known(self._inside(), rng)}]"
        return "[" + " ".join(str(rng.randrange(1, 10)) for _ in range(rng.randint(1, 4))) + "]"

    def _inside(self) -> Any:
        env = self._env
        while hasattr(env, "env"):
            env = env.env
        return env


class Baby:
    """A level of BabyAI."""

    def __init__(self, env: Any, bot: Any) -> None:
        self._env, self._bot = env, bot
        self._last: int | None = None
        self.over, self.value, self.won = False, 0.0, False

    @classmethod
    def begin(cls, name: str, seed: int) -> tuple[Baby, str]:
        """Start a level; return it and what is seen."""
        importlib.import_module("minigrid")
        env = importlib.import_module("gymnasium").make(f"BabyAI-{name}-v0")
        seen, _ = env.reset(seed=seed)
        bot = importlib.import_module("minigrid.utils.baby_ai_bot").BabyAIBot(env)
        return cls(env, bot), _RULES + f"{seen['mission']}.\n\n{told(seen['image'])}"

    def act(self, said: Said) -> str:
        """Do what the last box names; what is no action is told and takes the turn."""
        name = (boxed(said) or "").strip().lower()
        if name not in MOVES:
            move, note = 6, f"That is no action. Actions: {', '.join(MOVES)}.\n"
        else:
            move, note = MOVES.index(name), ""
        seen, reward, terminated, truncated, _ = self._env.step(move)
        self._last = move
        self.over = bool(terminated or truncated)
        self.won = bool(terminated) and float(reward) > 0
        self.value = float(self.won)
        return note + told(seen["image"])

    def reference(self) -> Said | None:
        """Return what the bot of the package does."""
        return f"\\boxed{{{MOVES[int(self._bot.replan(self._last))]}}}"

    def random(self, rng: random.Random) -> Said:
        """Return a random action."""
        return f"\\boxed{{{rng.choice(MOVES)}}}"


def told(image: Any) -> str:
    """Return a view of BabyAI in words: the agent stands in the middle of the last row.

    Args:
        image: `[7, 7, 3]`, by column and row: object, colour, state.
    """
    constants = importlib.import_module("minigrid.core.constants")
    kinds, colours = constants.IDX_TO_OBJECT, constants.IDX_TO_COLOR
    states = {number: word for word, number in constants.STATE_TO_IDX.items()}
    wide, far = len(image), len(image[0])
    middle, seen, carried, wall = wide // 2, [], "nothing", 0
    for ahead in range(far):
        for column in range(wide):
            kind, colour, state = (int(each) for each in image[column][far - 1 - ahead])
            name = kinds[kind]
            if name == "wall" and column == middle and not wall:
                wall = ahead
            if name in ("unseen", "empty", "wall", "floor"):
                continue
            thing = f"{colours[colour]} {name}"
            if name == "door":
                thing = f"{states[state]} {thing}"
            if ahead == 0 and column == middle:
                carried = thing
                continue
            side = column - middle
            where = f", {abs(side)} {'left' if side < 0 else 'right'}" if side else ""
            seen.append(f"{thing} {ahead} ahead{where}")
    lines = ["You see: " + ("; ".join(seen) or "nothing") + "."]
    lines += [f"A wall is {wall} ahead."] if wall else []
    return "\n".join([*lines, f"You carry {carried}."])


def named(games: Sequence[str] | str) -> list[str]:
    """Return names that were given as a list or with commas between them.

    Raises:
        ConfigError: one holds anything but letters, digits, `_` and `-`.
    """
    given = games.split(",") if isinstance(games, str) else games
    chosen = list(dict.fromkeys(each.strip() for each in given if each.strip()))
    if bad := [each for each in chosen if not re.fullmatch(r"[\w-]+", each)]:
        raise ConfigError(f"no game is called {bad[0]!r}")
    return chosen
