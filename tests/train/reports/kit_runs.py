"""Folders of runs as training leaves them, written without training."""

import json

import numpy as np

from spade_envs.gates import GATES, GATES_VERSION
from spade_envs.store import open_store
from spade_envs.types import EnvSource, GateResult, Interface, Report
from spade_train.config import resolve, to_toml

NASTY = "<script>alert(1)</script><img src=x onerror=alert(2)>\"' $x_{ {{ 7*7 }} \u202egnp\x1b[2J"
SKILLS = ("mathematical-reasoning", "logical-deduction", "data-retrieval")
GATES_REFUSED = ("l1.3", "l3.3", "l4.1")
RUN = "0123456789abcdef0123456789abcdef"


def make_run(
    path,
    *,
    updates=40,
    settings=(),
    overlays=(),
    text="a plain text",
    seed=0,
    gain=0.2,
    ended="updates",
):
    """Write a whole run whose held-out success rises by `gain`; give its folder."""
    path.mkdir(parents=True)
    config = resolve(
        "quickstart",
        overlays=overlays,
        settings=[f"run.updates={updates}", f"run.seed={seed}", *settings],
    )
    (path / "config.toml").write_text(to_toml(config), "utf-8")
    marker = {"format": 1, "run": RUN, "release": "0"}
    (path / "run.json").write_text(json.dumps(marker))
    rng = np.random.default_rng([seed, len(overlays)])
    digests = [_publish(path / "envstore", number, text) for number in range(3)] if updates else []
    metrics, events = [], []
    for update in range(updates):
        share = update / max(1, updates - 1)
        metrics.append({"update": update, **_numbers(share, rng, gain, update, updates)})
        env = digests[min(2, 3 * update // updates)]
        events += _events(update, env, text, rng)
    if ended:
        events.append(event("stopped", updates - 1, why=ended))
    write_lines(path / "metrics.jsonl", metrics)
    write_lines(path / "events.jsonl", events)
    return path


def write_lines(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")


def event(kind, update, **fields):
    return {"kind": kind, "update": update, "unix_s": 1.0, **fields}


def _numbers(share, rng, gain, update, updates):
    success = 0.3 + 0.2 * share + rng.normal(0, 0.02)
    found = {
        "train/loss": rng.normal(0, 0.1),
        "train/grad_norm": 0.5 + rng.random(),
        "train/entropy": 1.5 - share,
        "train/kl": 0.01 * share,
        "train/logp_difference": 1e-4 * (1 + rng.random()),
        "agent/success": success,
        "agent/success_hinted": success + 0.15,
        "agent/regret": 0.15 + rng.normal(0, 0.02),
        "agent/regret_se": 0.02,
        "agent/level_mean": 1 + share,
        "agent/fault_share": 0.01,
        "agent/flat_groups": 0.3,
        "agent/truncated": 0.0,
        "designer/acceptance": 0.6 + 0.2 * share,
        "designer/score": 0.3 + 0.1 * share,
        "designer/regret": 0.15,
        "designer/level_mean": 1 + share,
        "designer/solution_words": 2 + share,
        "hint/words": 12.0,
        "hint/overlap": 0.2,
        "hint/withheld": 0.9,
        "budget/agent_episodes": 1152 * (update + 1),
        "budget/generated_tokens": 30_000 * (update + 1),
    }
    for level in range(4):
        found[f"agent/success/level-{level}"] = max(0.0, success + 0.3 - 0.2 * level)
        found[f"agent/success_hinted/level-{level}"] = max(0.0, success + 0.4 - 0.2 * level)
    for number, (skill, gate) in enumerate(zip(SKILLS, GATES_REFUSED, strict=True)):
        found[f"designer/skill/{skill}"] = float(rng.integers(1, 9))
        found[f"designer/refused/{gate}"] = float(number)
    for challenge, weight in (("easy", 9 - 6 * share), ("medium", 6.0), ("hard", 2 + 6 * share)):
        found[f"designer/challenge/{challenge}"] = weight
    if update % 10 == 0 or update == updates - 1:
        held = 0.4 + gain * share
        found |= {"eval/success": held, "eval/success_se": 0.014, "eval/success/level-0": held}
        found |= {"eval/success/numbers": held, "eval/success/level-10": held / 2}
    return found


def _events(update, env, text, rng):
    turn = {"action": text, "observation": text, "reward": 0.5}
    shared = {"env": env, "level": 1, "seed": 7, "first_observation": text, "turns": [turn] * 2}
    parts = {"model_s": 3.0, "gates_s": 0.5, "play_s": 0.4, "tokens_s": 0.1, "other_s": 0.2}
    labels = {"skill": SKILLS[0], "challenge": "easy", "family": text[:40], "title": text}
    return [
        event("designed", update, env=env, stage=None, reason="", **labels),
        event("designed", update, env=None, stage="gates", reason="L3.3 no", **labels),
        event(
            "scored",
            update,
            env=env,
            score=0.5,
            reason="",
            regret=0.1 + update / 1000,
            success=0.4,
            success_hinted=0.5,
        ),
        event("episode", update, hinted=False, success=False, fault=None, hint="", **shared),
        event("episode", update, hinted=True, success=True, fault=None, hint=text, **shared),
        event("times", update, wall_s=4.2 + rng.random() / 10, **parts),
    ]


def _publish(root, number, text):
    code = f'"""A program."""\nVALUE = {number}\nTEXT = {text!r}\n'
    source = EnvSource(code=code)
    report = Report(
        source_sha256=source.sha256,
        gates_version=GATES_VERSION,
        interface=Interface(entry="Maze", kind="text", levels=2, summary="Find the way."),
        results=tuple(
            GateResult(gate=gate.id, title=gate.title, outcome="pass", message="") for gate in GATES
        ),
        layers=("seccomp",),
    )
    return open_store(root, create=True).add(source, report, {}).digest
