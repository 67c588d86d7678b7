"""`textarena:ID`: games for one player; the last reward of the game is the return."""

from __future__ import annotations

from spade_envs.interop.target import Library, Target
from spade_envs.interop.wrappers import wrapped

LIBRARY = Library(name="textarena", modules=("textarena",), licence="MIT")

_TEMPLATE = '''\
import textarena

from spade_envs.api import TextEnv


class $cls(TextEnv):
    """$label, for one player."""

    max_turns = 100
    reward_range = (-1.0, 1.0)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.game = textarena.make($ident)
        self.game.reset(num_players=1, seed=self.draw_int(0, 2**31 - 1))
        return str(self.game.get_observation()[1]), {}

    def step(self, action):
        done, _ = self.game.step(action)
        if not done:
            return self.go_on(str(self.game.get_observation()[1]))
        rewards, facts = self.game.close()
        reward = float(rewards[0])
        text = str(facts[0].get("reason", "The game is over."))
        if reward >= 1.0:
            return self.win(text, reward=reward)
        return self.lose(text, reward=reward)
'''


def names(rest: str) -> list[str]:
    """Return the ids behind the prefix, separated by commas."""
    return rest.split(",")


def wrap(name: str) -> Target:
    """Return the target of one game."""
    return wrapped(f"textarena:{name}", _TEMPLATE, LIBRARY, name, ident=name)
