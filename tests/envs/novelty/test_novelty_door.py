"""The door: copies stay out, different environments come in, and every refusal says why."""

import json

import pytest

from envs.novelty.copies import copies
from envs.novelty.kit_novelty import SAME_WORDS, SIX, SUM, kept, one_turn, publish
from spade_envs.errors import ConfigError
from spade_envs.novelty import OFF, Door, Thresholds, parse_thresholds
from spade_envs.store import open_store, starter_path
from spade_envs.types import EnvSource


@pytest.fixture
def store(tmp_path):
    return open_store(tmp_path / "store", create=True)


def starters():
    starter = open_store(starter_path())
    return {record.id: starter.source(record) for record in starter.records()}


@pytest.mark.parametrize("name", ["harbour-berths", "ledger-sync"])
def test_of_ten_renamed_reordered_and_reworded_copies_one_is_kept(store, name):
    source = starters()[f"spade/{name}-v0"]
    ten = copies(source)
    assert len({one.sha256 for one in ten}) == 10
    assert kept(store, Door(store), ten) == ten[:1]


def test_of_thirty_different_environments_thirty_are_kept(store):
    thirty = [*starters().values(), *SIX]
    assert len(thirty) == 30
    assert kept(store, Door(store), thirty) == thirty
    assert kept(store, Door(store), thirty) == []  # another process reads what was kept


def test_refusals_name_the_environment_the_step_and_the_distance(store):
    record = publish(store, SUM)
    door = Door(store)
    again = door.judge(SUM).refused
    assert (again.step, again.record.id) == ("text", record.id)

    renamed = EnvSource(code=SUM.code.replace("SumEnv", "TotalEnv"))
    assert door.judge(renamed).refused.step == "program"

    other_words = one_turn("TotalEnv", "self.a + self.b", "Which total have", doc="Totals.")
    refused = door.judge(other_words).refused
    assert refused.step == "behaviour"
    assert refused.distance < 0.01
    assert refused.reason == (
        f"{record.id} gives the same tasks, answers and payments in other words "
        f"(behaviour distance {refused.distance:.3f}, at most 0.1 is a repeat)"
    )


def test_draws_in_another_order_are_found_by_text_and_statements(store):
    """The tasks differ seed by seed, so the behaviour does; the statements are the same."""
    draws = [
        "        self.a = self.draw_int(11, 99)\n",
        "        self.b = self.draw_int(101, 999)\n",
    ]
    old = SUM.code.index("        self.a, self.b"), SUM.code.index("        self.want")
    first, second = (
        EnvSource(code=SUM.code[: old[0]] + "".join(lines) + SUM.code[old[1] :])
        for lines in (draws, draws[::-1])
    )
    publish(store, first)
    verdict = Door(store).judge(second)
    assert verdict.refused.step == "embedding"
    only_behaviour = Door(store, Thresholds(embedding=None)).judge(second)
    assert only_behaviour.refused is None
    assert only_behaviour.nearest[0].distance > 0.3


def test_one_text_may_introduce_two_different_tasks(store):
    """An embedding distance of zero alone refuses nothing."""
    plus, times = (one_turn("RuleEnv", f"self.a {op} self.b", SAME_WORDS) for op in "+*")
    publish(store, plus)
    verdict = Door(store).judge(times)
    assert verdict.refused is None
    by = {near.step: near for near in verdict.nearest}
    assert by["embedding"].distance < 0.001
    assert by["behaviour"].distance > 0.3


def test_thresholds_hold_as_given_and_are_told(store):
    record = publish(store, SUM)
    other = one_turn("DifferenceEnv", "self.a - self.b", "Take the second from the first:")
    strict = Door(store, parse_thresholds("behaviour=0.9")).judge(other)
    assert strict.refused.step == "behaviour"
    assert strict.as_json()["thresholds"] == "embedding=0.2,behaviour=0.9"
    assert strict.as_json()["refused"]["id"] == record.id
    words = one_turn("TotalEnv", "self.a + self.b", "Which total have", doc="Totals.")
    assert Door(store, OFF).judge(words).refused is None
    assert Door(store, OFF).judge(SUM).refused.step == "text"  # the same text is never new
    json.dumps(strict.as_json())


def test_what_cannot_be_played_is_let_through_and_said(store):
    publish(store, SUM)
    broken = EnvSource(code="class BrokenEnv:\n    pass\n")
    verdict = Door(store).judge(broken)
    assert verdict.refused is None
    assert not verdict.told
    assert verdict.as_json()["behaviour"] == "not told"


def test_the_next_version_of_a_name_may_repeat_it(store):
    record = publish(store, SUM)
    words = one_turn("TotalEnv", "self.a + self.b", "Which total have", doc="Totals.")
    assert Door(store).judge(words, but=lambda env_id: env_id == record.id).refused is None


def test_a_stale_or_forged_index_neither_hides_nor_invents(store):
    record = publish(store, SUM)
    product = publish(store, SIX[2])
    Door(store).judge(SIX[3])
    index = store.root / "index.jsonl"
    lines = [json.loads(line) for line in index.read_text().splitlines()]
    forged = {**lines[0], "id": "spade/never-was-v0"}
    swapped = [{**one, "digest": lines[1 - n]["digest"]} for n, one in enumerate(lines)]
    index.write_text("".join(json.dumps(one) + "\n" for one in (*swapped, forged)))
    door = Door(store)
    assert door.judge(SUM).refused.record.id == record.id
    assert door.judge(SIX[2]).refused.record.id == product.id
    assert door.judge(SIX[1]).refused is None

    for version in (store.root / "envs").iterdir():  # folders gone, index left
        if version.name == record.id.split("/")[1].removesuffix("-v0"):
            version.rename(store.root.parent / "away")
    assert Door(store).judge(SUM).refused is None


def test_withdrawn_environments_may_be_written_again_in_other_words(store):
    record = publish(store, SUM)
    store.withdraw(record.id, "a slip in the prompt")
    words = one_turn("TotalEnv", "self.a + self.b", "Which total have", doc="Totals.")
    assert Door(store).judge(words).refused is None


def test_caches_are_only_caches(store):
    record = publish(store, SUM)
    words = one_turn("TotalEnv", "self.a + self.b", "Which total have", doc="Totals.")
    assert Door(store).judge(words).refused.record.id == record.id
    for path in (store.root / ".cache").glob("*.jsonl"):
        path.write_bytes(b"0" * 64 + b' ["sha256:0",""]\n\xff\x00{\n')
    assert Door(store).judge(words).refused.record.id == record.id


@pytest.mark.parametrize("text", ["", "embedding", "embedding=x", "behaviour=2", "speed=1",
                                  "embedding=nan", "embedding=0.1,embedding=0.2"])  # fmt: skip
def test_thresholds_that_cannot_be_read_are_refused_with_the_mend(text):
    with pytest.raises(ConfigError, match="novelty"):
        parse_thresholds(text)


def test_thresholds_are_read_and_written_alike():
    for text in ("off", "embedding=off,behaviour=0.02", "embedding=0.05,behaviour=0.1"):
        assert str(parse_thresholds(text)) == text
    assert parse_thresholds("behaviour=off") == Thresholds(behaviour=None)
