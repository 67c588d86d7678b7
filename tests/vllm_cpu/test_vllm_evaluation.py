"""One model, one suite, two engines: greedy replies in float32 are the same text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("vllm", reason="`make test-vllm` runs these in their own environment")

from spade_envs.design.clients import open_policy
from spade_train.evaluate.agreement import agreement
from spade_train.evaluate.players import open_player
from spade_train.evaluate.run import Evaluation, Plan
from spade_train.nano.model import WEIGHTS
from spade_train.suites.registry import open_suite

pytestmark = pytest.mark.timeout(900)


def test_the_same_model_replies_alike_through_transformers_and_vllm(tmp_path: Path) -> None:
    suite = open_suite("heldout", {"store": "starter", "instances": 1})
    greedy = replace(suite.decoding, temperature=0.0, max_tokens=24, max_turns=1, samples=1)
    plan = Plan(decoding=greedy, limit=24)  # the first ones do not fit the window of 512 tokens
    folders = []
    try:
        for scheme, more in {"hf": {"batch_size": 1}, "vllm": {"max_model_len": 512}}.items():
            spec = f"{scheme}:{WEIGHTS}"
            policy = open_policy(spec, dtype="float32", **more)
            player = open_player(spec, policy=policy, name=scheme, cuts=True, dtype="float32")
            evaluation = Evaluation(suite, player, plan, tmp_path, transcripts=True)
            list(evaluation.run())
            folders.append(evaluation.folder)
    finally:
        suite.close()
    found = agreement(*folders)
    assert found.attempts == 24
    assert 12 <= found.replies < 24
    assert found.astray == ()
    assert [(each.left, each.right) for each in found.partings] == []
    assert found.scores == ()
