"""The bundled weights as a designer."""

import json
import re
from collections import Counter

import pytest

torch = pytest.importorskip("torch")

from click.testing import CliRunner  # noqa: E402

from spade_envs.design.clients.base import CompletionRequest, Policy  # noqa: E402
from spade_envs.design.novelty import ast_hash  # noqa: E402
from spade_envs.design.parse import parse  # noqa: E402
from spade_envs.design.prompting import render_prompt  # noqa: E402
from spade_envs.errors import ClientError, MissingExtra  # noqa: E402
from spade_envs.gates import check  # noqa: E402
from spade_envs.types import Brief, EnvSource, Passage, Skill  # noqa: E402
from spade_train.cli import main  # noqa: E402
from spade_train.nano.designer import NanoDesigner  # noqa: E402
from spade_train.nano.families import Draw  # noqa: E402
from spade_train.nano.model import MAX_TOKENS, WEIGHTS  # noqa: E402
from spade_train.nano.programs import draw_condition, family_of  # noqa: E402

RIVER = "The river fills a reservoir. Every turbine below the reservoir drives one pump."


@pytest.fixture(scope="module")
def nano():
    return NanoDesigner()


@pytest.fixture(scope="module")
def codes(nano):
    conditions = [draw_condition(Draw(f"test/{i}"), []) for i in range(16)]
    return nano.programs(conditions, seed=100)


def request(skill, seed, max_tokens=80):
    passage = Passage(text=RIVER, title="Water", corpus="test", source="water.txt")
    brief = Brief(passage=passage, skill=skill, kind="text", challenge="easy")
    return CompletionRequest(messages=tuple(render_prompt(brief)), seed=seed, max_tokens=max_tokens)


def test_it_is_a_designer(nano):
    assert isinstance(nano, Policy)
    assert re.fullmatch("nano-[0-9a-f]{12}", nano.name)


def test_a_completion_is_the_same_alone_and_in_a_batch(nano):
    requests = [request(skill, seed) for seed, skill in enumerate(list(Skill)[:6])]
    together = nano.complete_many(requests)
    for wanted, found in list(zip(requests, together, strict=True))[::3]:
        alone = NanoDesigner().complete(
            wanted.messages, seed=wanted.seed, max_tokens=80, temperature=0.8
        )
        assert alone == found
    assert len({one.text for one in together}) == 6


def test_programs_are_about_the_passage(nano):
    answers = nano.complete_many([request(Skill.OPTIMIZATION, seed) for seed in range(8)])
    texts = [answer.text.lower() for answer in answers]
    words = ("river", "reservoir", "turbine", "pump")
    assert sum(any(word in text for word in words) for text in texts) >= 5
    assert all(answer.completion_tokens <= 80 for answer in answers)


def test_a_completion_holds_one_fenced_program(nano):
    (answer,) = nano.complete_many([request(Skill.OPTIMIZATION, 1, max_tokens=1000)])
    assert answer.finish_reason == "stop"
    assert answer.completion_tokens < MAX_TOKENS
    assert parse(answer.text).code.startswith("from spade_envs.api import ")


def test_a_limit_of_tokens_is_kept(nano):
    wanted = request(Skill.OPTIMIZATION, 0)
    answer = nano.complete(wanted.messages, seed=0, max_tokens=5, temperature=0.8)
    assert answer.completion_tokens == 5
    assert answer.finish_reason == "length"


def test_most_programs_load_and_win(codes):
    reports = [check(EnvSource(code=code), depth="quick", seeds=5) for code in codes[:16]]
    failed = [report.failures[0].message for report in reports if report.failures]
    assert len(failed) <= 3, failed  # at least 80 % of 16


def test_programs_are_varied(codes):
    families = Counter(family_of(code) for code in codes)
    assert len(families) >= 8
    assert len({ast_hash(EnvSource(code=code)) for code in codes}) >= 15


def test_the_bundle_is_small_and_tells_how_it_was_made():
    assert sum(path.stat().st_size for path in WEIGHTS.iterdir()) < 10_000_000
    told = json.loads((WEIGHTS / "bootstrap.json").read_text(encoding="utf-8"))
    assert told["designer"]["share"] >= 0.8
    assert told["settings"]["steps"] > 0


def test_missing_weights_and_missing_torch_are_said(tmp_path, monkeypatch):
    wanted = request(Skill.OPTIMIZATION, 0)
    with pytest.raises(ClientError, match="bootstrap"):
        NanoDesigner(tmp_path).complete(wanted.messages, seed=0, max_tokens=9, temperature=0.8)
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"spade-envs\[nano\]"):
        NanoDesigner()


def test_the_command_prints_programs():
    arguments = ["nano", "sample", "--count", "2", "--about", RIVER, "--json"]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0
    programs = json.loads(done.output)
    assert [program.startswith("from spade_envs.api import ") for program in programs] == [True] * 2


@pytest.mark.parametrize(
    "words",
    [
        ["sample", "--count", "0"],
        ["sample", "--seed", "-1"],
        ["sample", "--temperature", "-1"],
        ["sample", "--temperature", "nan"],
        ["bootstrap", "--out", "made", "--seed", "-1"],
        ["bootstrap", "--out", "made", "--steps", "0"],
        ["bootstrap", "--out", "made", "--samples", "-1"],
        ["bootstrap", "--out", "made", "--episodes", "-1"],
        ["bootstrap", "--out", __file__],
    ],
)
def test_numbers_and_folders_that_cannot_be_used_are_named_at_once(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["nano", *words])
    assert done.exit_code == 2
    assert words[-2] in done.stderr
    assert list(tmp_path.iterdir()) == []
