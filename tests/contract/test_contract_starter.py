"""Every environment of the starter store keeps the contract, at every level."""

from __future__ import annotations

import copy
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from gymnasium.utils.env_checker import check_env

from contract import starter_play as play
from spade_envs.api import ToolEnv
from spade_envs.api.loading import interface_of
from spade_envs.gates import GATES_VERSION
from spade_envs.store import open_store
from spade_envs.types import COGNITIVE_SKILLS, TOOL_SKILLS

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

NAMES = play.names()
CASES = [(name, level) for name in NAMES for level in range(play.entry(name).levels)]
each = pytest.mark.parametrize(("name", "level"), CASES, ids=[f"{n}-{k}" for n, k in CASES])
SEEDS = range(5)


def solutions(env, seeds):
    found = {}
    for seed in seeds:
        env.reset(seed=seed)
        found[seed] = env.solution()
    return found


def test_the_store_covers_every_skill_twice_at_four_levels_or_more():
    skills = Counter()
    for name in NAMES:
        manifest = json.loads((play.STORE / f"envs/{name}/v0/manifest.json").read_text("utf-8"))
        skills.update(manifest["skills"])
        interface = interface_of(play.entry(name))
        assert interface.levels >= 4, name
        assert interface.has_hint, name
        assert interface.has_solution, name
        assert len(interface.summary) > 20, name
        is_tool_skill = manifest["skills"][0] in TOOL_SKILLS
        assert (interface.kind == "tool") == is_tool_skill, name
    assert {skill: skills[skill] for skill in (*COGNITIVE_SKILLS, *TOOL_SKILLS)} == dict.fromkeys(
        (*COGNITIVE_SKILLS, *TOOL_SKILLS), 2
    )


@each
def test_gymnasiums_own_checker_is_content(name, level):
    env = play.entry(name)(level=level)
    check_env(env, skip_render_check=True)
    assert env.reset(seed=3) == env.reset(seed=3)


@each
def test_the_solution_wins_and_wins_again_after_other_episodes(name, level):
    env = play.entry(name)(level=level)
    first = play.play(env, 0, solutions(env, [0])[0])
    for seed, actions in solutions(env, SEEDS).items():
        total, success, seen = play.play(env, seed, actions)
        assert (total, success) == (1.0, True), (seed, actions, seen[-1])
        assert len(seen) - 1 == len(actions)
    assert play.play(env, 0, solutions(env, [0])[0]) == first


@each
def test_a_solution_wins_no_other_instance(name, level):
    env = play.entry(name)(level=level)
    found = solutions(env, SEEDS)
    pairs = [(a, b) for a in found for b in found if a != b]
    won = sum(play.play(env, other, found[seed])[1] for seed, other in pairs)
    assert won <= 0.1 * len(pairs)


@each
def test_constants_and_babble_earn_next_to_nothing(name, level):
    env = play.entry(name)(level=level)
    for seed, constant in enumerate(play.CONSTANT):
        assert not play.play(env, seed, [constant] * env.max_turns)[1], (seed, constant)
    assert sum(play.roam(env, seed, play.babble) for seed in range(6)) <= 1


@each
def test_instances_differ_from_seed_to_seed(name, level):
    env = play.entry(name)(level=level)
    pairs = [(env.reset(seed=seed)[0], tuple(env.solution())) for seed in range(30)]
    assert len({prompt for prompt, _ in pairs}) >= 20
    assert len({answer for _, answer in pairs}) >= 20


@each
def test_any_text_is_survived_and_earns_nothing(name, level):
    env = play.entry(name)(level=level)
    env.reset(seed=1)
    fresh = copy.deepcopy(env)
    for text in play.STRANGE:
        total, success, seen = play.go_on(copy.deepcopy(fresh), [text] * 2)
        assert (total, success) == (0.0, False), text[:40]
        assert all(
            isinstance(observation, str) and len(observation) < 20_000 for observation in seen
        )


@each
def test_the_hint_helps_without_giving_the_answer(name, level):
    env = play.entry(name)(level=level)
    for seed in SEEDS:
        observation, info = env.reset(seed=seed)
        hint, final = env.hint(), env.solution()[-1]
        boxed = re.fullmatch(r"\\boxed\{(.+)\}", final)
        answer = boxed[1] if boxed else final
        assert len(hint) > 60
        assert hint != observation
        whole = re.compile(rf"(?<![\w.-]){re.escape(answer)}(?![\w-])", re.IGNORECASE)
        if len(answer) > 1:
            assert not whole.search(hint), (seed, answer)
            assert not whole.search(json.dumps(info)), (seed, answer)
        if len(answer) > 3 and not isinstance(env, ToolEnv):
            assert answer not in observation, (seed, answer)


@each
def test_a_copy_made_in_the_middle_goes_on_alone(name, level):
    env = play.entry(name)(level=level)
    env.reset(seed=5)
    actions = env.solution()
    half = len(actions) // 2
    for action in actions[:half]:
        env.step(action)
    twin = copy.deepcopy(env)
    rest = [env.step(action) for action in actions[half:]]
    assert [twin.step(action) for action in actions[half:]] == rest
    assert rest[-1][1:3] == (1.0, True)


def test_transcripts_are_the_same_in_processes_with_other_hash_seeds():
    script = Path(play.__file__)
    found = []
    for hash_seed, folder in (("1", "/"), ("4242", str(script.parent))):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "TZ": f"UTC{hash_seed[0]}"}
        result = subprocess.run(
            [sys.executable, str(script)],
            capture_output=True,
            check=True,
            cwd=folder,
            env=environment,
            timeout=100,
        )
        found.append(json.loads(result.stdout))
    assert len(found[0]) == len(CASES)
    assert len(set(found[0].values())) == len(CASES)
    assert found[0] == found[1]


@pytest.mark.slow
@each
def test_many_seeds(name, level):
    env = play.entry(name)(level=level)
    found = solutions(env, range(100))
    for seed, actions in found.items():
        assert play.play(env, seed, actions)[:2] == (1.0, True), seed
    for seed in range(0, 100, 10):
        won = sum(play.play(env, other, found[seed])[1] for other in found if other != seed)
        assert won <= 20, seed
    assert sum(play.roam(env, seed, play.babble) for seed in range(200)) <= 20
    for constant in play.CONSTANT:
        won = sum(play.play(env, seed, [constant] * env.max_turns)[1] for seed in range(20))
        assert won <= 1, constant


def test_the_starter_store_is_in_order_and_certified_by_these_gates():
    store = open_store(play.STORE)
    assert store.verify() == []
    versions = {store.manifest(record).report.gates_version for record in store.records()}
    assert versions == {GATES_VERSION}
