"""How success of the agent is counted, and what the bundled weights can play."""

import json

import pytest

torch = pytest.importorskip("torch")

from spade_envs.types import Message  # noqa: E402
from spade_train.nano.data import demo_sample, encode, load_own, won_episode  # noqa: E402
from spade_train.nano.families import FAMILIES, PLAYED, Draw  # noqa: E402
from spade_train.nano.model import WEIGHTS, load  # noqa: E402
from spade_train.nano.play import Cell, play_judge, play_table  # noqa: E402
from spade_train.nano.programs import draw_condition, write_program  # noqa: E402
from spade_train.tokens import ChatFormat, Window  # noqa: E402

BY_NAME = {family.name: family for family in FAMILIES}


@pytest.fixture(scope="module")
def nano():
    return load()


def env_of(name, steps=0):
    draw = Draw(f"play/{name}")
    return load_own(write_program(draw, draw_condition(draw, []), BY_NAME[name], steps).code)()


@pytest.mark.parametrize("family", PLAYED, ids=lambda family: family.name)
def test_demos_are_the_tokens_that_a_trainer_would_build(nano, family):
    _, tokenizer = nano
    window = Window(tokens=1024, turn_tokens=64)
    form = ChatFormat.of(tokenizer, window=window)
    for hinted in (False, True):
        demo = won_episode(env_of(family.name, 2), seed=5, hinted=hinted)
        ids, learnt = encode(demo, tokenizer, 2000)
        dialogue = form.begin([Message("user", demo.texts[0])])
        for place in range(1, len(demo.texts), 2):
            said = [*tokenizer(demo.texts[place])["input_ids"], tokenizer.eos_token_id]
            dialogue = form.sampled(dialogue, said, [0.0] * len(said))
            assert form.turn(dialogue).text == demo.texts[place]
            if place + 1 < len(demo.texts):
                dialogue = form.reply(dialogue, [Message("user", demo.texts[place + 1])])
        assert list(dialogue.ids) == ids
        assert sum(learnt) == sum(
            len(tokenizer(text)["input_ids"]) + 1 for text in demo.texts[1::2]
        )


def test_a_demo_uses_its_hint():
    plain, hinted = (
        won_episode(env_of("retrieve"), seed=1, hinted=hinted).texts for hinted in (False, True)
    )
    assert "\nHint: The " in hinted[0]
    assert "Hint" not in plain[0]
    assert plain[1].startswith("<tool_call>")
    assert hinted[1] == plain[3]  # the hint spares the first call
    words = [won_episode(env_of("words", 2), seed=1, hinted=hint).texts for hint in (False, True)]
    assert words[0][1] == words[1][1]


def test_every_demo_is_a_won_episode():
    for number in range(60):
        texts = demo_sample(Draw(f"won/{number}"), []).texts
        assert len(texts) % 2 == 0
        assert texts[-1]


def test_success_is_counted_by_cell():
    cells = [
        Cell(family="hops", steps=steps, hinted=hinted, episodes=4, won=won)
        for steps, hinted, won in ((0, False, 3), (0, True, 4), (1, False, 1), (1, True, 3))
    ]
    assert play_table(cells) == {
        "episodes_per_cell": 4,
        "steps_above_least": [0, 1],
        "success": {"hops": {"plain": [0.75, 0.25], "hinted": [1.0, 0.75]}},
    }


def test_the_bundled_agent_wins_short_instances_more_often_than_long_ones(nano):
    model, tokenizer = nano
    families = [BY_NAME[name] for name in ("shift", "cheapest", "picks")]
    cells = play_judge(model, tokenizer, episodes=12, seed=3, families=families, levels=(0, 8))
    assert [cell.steps for cell in cells] == [0, 0, 8, 8] * 3
    low, high = (sum(cell.won for cell in cells if cell.steps == steps) for steps in (0, 8))
    assert low >= 32  # of 72
    assert high <= 26
    again = play_judge(model, tokenizer, episodes=12, seed=3, families=families[:1], levels=(0,))
    assert again == cells[:2]


def test_the_bundle_tells_how_it_plays():
    told = json.loads((WEIGHTS / "bootstrap.json").read_text(encoding="utf-8"))["agent"]
    assert set(told["success"]) == {family.name for family in PLAYED}
    cells = 2 * len(told["steps_above_least"])
    assert cells * told["episodes_per_cell"] >= 200
