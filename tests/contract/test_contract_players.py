"""Players that see only what an agent sees win hard instances, so these can be won fairly."""

from __future__ import annotations

import json
import re

import pytest

from contract import starter_play as play
from spade_envs.api import call, calls


def said(env, action):
    """Return the observation that an action brings, and whether the episode was won."""
    observation, _, _, _, info = env.step(action)
    return observation, info.get("success", False)


@pytest.mark.parametrize("level", [4, 5])
def test_two_questions_give_a_polynomial_of_small_coefficients_away(level):
    env = play.entry("polynomial-oracle")(level=level)
    for seed in range(10):
        prompt = env.reset(seed=seed)[0]
        degree = int(re.search(r"degree (\d+)", prompt)[1])
        reach = int(re.search(r"numbers from -\d+ to (\d+)\.\nOne", prompt)[1])
        high, low = (
            int(said(env, f"ask {x}")[0].split("= ")[1].split(".")[0]) for x in (reach, -reach)
        )
        even, odd = (high + low) // 2, (high - low) // (2 * reach)
        base = reach * reach
        coefficients = [0] * (degree + 1)
        for parity, number in ((0, even), (1, odd)):
            for power in range(parity, degree + 1, 2):
                digit = (number + base // 2) % base - base // 2
                coefficients[degree - power] = digit
                number = (number - digit) // base
        assert said(env, ", ".join(map(str, coefficients)))[1], seed


def infer(opinions, honest, crooked):
    """Draw one more conclusion from what is known; return whether there was one."""
    for (witness, subject), praise in opinions.items():
        if witness in honest and subject not in honest | crooked:
            (honest if praise else crooked).add(subject)
            return True
        known = honest | crooked
        if subject in known and praise == (subject in crooked) and witness not in known:
            crooked.add(witness)
            return True
    return False


@pytest.mark.parametrize("level", [0, 2, 3, 4])
def test_chains_of_praise_find_every_honest_member(level):
    env = play.entry("honest-majority")(level=level)
    for seed in range(20):
        prompt = env.reset(seed=seed)[0]
        members = re.search(r"members: ([\w, ]+)\.", prompt)[1].split(", ")
        most_crooked = (len(members) - 1) // 2
        opinions = {}

        def ask(witness, subject, opinions=opinions):
            if (witness, subject) not in opinions:
                answer = said(env, f"ask {witness} about {subject}")[0]
                opinions[witness, subject] = "is honest" in answer
            return opinions[witness, subject]

        chain, left, aside = [members[0]], members[1:], 0
        # each pair that was set aside holds a crooked one
        while len(chain) <= most_crooked - aside:
            other = left.pop()
            if ask(chain[-1], other):
                chain.append(other)
            else:
                chain.pop()
                aside += 1
                if not chain:
                    chain.append(left.pop())
        honest, crooked = {chain[-1]}, set()
        while unknown := [m for m in members if m not in honest and m not in crooked]:
            if not infer(opinions, honest, crooked):
                # praise links: whoever praises one that is found crooked is crooked as well
                ask(chain[-1], max(unknown, key=lambda m: sum(m in pair for pair in opinions)))
        assert said(env, ", ".join(sorted(honest)))[1], (seed, len(opinions))


def test_liars_alone_fall_into_two_camps():
    env = play.entry("honest-majority")(level=1)
    for seed in range(20):
        prompt = env.reset(seed=seed)[0]
        first, *others = re.search(r"members: ([\w, ]+)\.", prompt)[1].split(", ")
        replies = {name: said(env, f"ask {first} about {name}")[0] for name in others}
        camp = [first] + [name for name in others if "is honest" in replies[name]]
        rest = [name for name in others if name not in camp]
        assert said(env, ", ".join(max(camp, rest, key=len)))[1], seed


@pytest.mark.parametrize("level", range(4))
def test_a_careful_clerk_enters_every_payment_once(level):
    env = play.entry("ledger-sync")(level=level)
    for seed in range(10):
        _, info = env.reset(seed=seed)
        wanted = re.findall(r"(\d+) to (\w+)", info["user"])
        names = sorted({name for _, name in wanted})
        before = read(env, names)
        now, goal = before, {}
        for amount, name in wanted:
            goal[name, amount] = goal.get((name, amount), before[name][1].count(amount)) + 1
        while missing := [key for key in goal if now[key[0]][1].count(key[1]) < goal[key]]:
            name, amount = missing[0]
            version = now[name][0]
            now = read(env, names, call("enter", account=name, amount=int(amount), version=version))
        success, user = env.asked == [], ""
        for name in env.asked:
            total = sum(map(int, read(env, [name])[name][1]))
            user, success = said(env, f"\\boxed{{{total}}}")
        if not env.asked:
            user, success = said(env, "All of them are in.")
        assert success, (seed, user)


def read(env, names, *first):
    """Do something, wait, and return version and amounts of each account."""
    looks = [call("read_account", account=name) for name in names]
    text = said(env, calls(*first, call("wait", seconds=20), *looks))[0]
    rows = [
        json.loads(line.split(" -> ")[1])
        for line in text.splitlines()
        if line.startswith("read_account")
    ]
    return {
        name: (row["version"], [str(amount) for amount in row["entries"].values()])
        for name, row in zip(names, rows[-len(names) :], strict=True)
    }
