"""Play one generated environment through plain Gymnasium: an empty policy, then the reference.

python examples/play_generated.py STORE
"""

import sys

import gymnasium as gym

import spade_envs
from spade_envs.play import play, reference

store = spade_envs.open_store(sys.argv[1] if len(sys.argv) > 1 else None)
spade_envs.register_store(store)
record = next(record for record in store.records() if record.withdrawn is None)

env = gym.make(record.id, level=record.levels - 1)
solution = reference(store.source(record), seed=7, level=record.levels - 1).solution
for name, policy in {
    "empty": lambda first, turns: "",
    "reference": lambda first, turns: solution[len(turns)],
}.items():
    episode = play(env, policy, seed=7)
    print(f"\n{record.id}, hardest level, {name} policy\n{episode.first_observation}")
    for turn in episode.turns[:4]:
        print(f"> {turn.action!r}\n{turn.observation}")
    if len(episode.turns) > 4:
        print(f"... {len(episode.turns) - 4} more turns")
    print(f"return {episode.total_reward:g}, success {episode.success}")
env.close()
