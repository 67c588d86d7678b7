import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spade_train.delayed import DelayedDesigns
from spade_train.errors import DataError
from spade_train.types import DesignSample, EpisodeResult, as_json, from_json


def sample(key, update, *, env="same"):
    env = f"env-{key}" if env == "same" else env
    return DesignSample(key=key, brief="b", skill="s", update=update, env=env)


def played(env, update, *, success=True):
    return EpisodeResult(env=env, level=0, seed=0, update=update, hinted=False, success=success)


def test_a_sample_waits_for_its_delay_and_takes_its_episodes_along():
    buffer = DelayedDesigns(delay=4).with_samples([sample("a", 0), sample("bad", 0, env=None)])
    for update in range(4):
        buffer = buffer.with_results([played("env-a", update), played("stranger", update)])
        due, buffer = buffer.due(update)
        assert due == ()
    due, buffer = buffer.due(4)
    assert [each.sample.key for each in due] == ["a", "bad"]
    assert [result.update for result in due[0].results] == [0, 1, 2, 3]
    assert due[1].results == ()
    assert buffer == DelayedDesigns(delay=4)


def test_samples_fall_due_between_design_phases_too():
    # Delay 3 with new designs every 4 updates: the published buffer would never be read.
    buffer, trained = DelayedDesigns(delay=3), []
    for update in range(9):
        if update % 4 == 0:
            buffer = buffer.with_samples([sample(str(update), update)])
        due, buffer = buffer.due(update)
        trained += [(update, each.sample.key) for each in due]
    assert trained == [(3, "0"), (7, "4")]
    due, buffer = buffer.flush()
    assert [each.sample.key for each in due] == ["8"]
    assert buffer.samples == buffer.results == ()


def test_without_delay_a_sample_is_due_at_once():
    buffer = (
        DelayedDesigns(delay=0).with_samples([sample("a", 5)]).with_results([played("env-a", 5)])
    )
    due, _ = buffer.due(5)
    assert len(due[0].results) == 1


@settings(deadline=None)
@given(
    delay=st.integers(0, 5),
    designs=st.lists(st.integers(0, 3), min_size=1, max_size=12),
    skip=st.integers(1, 3),
)
def test_every_sample_is_trained_once_never_early_and_with_all_its_episodes(delay, designs, skip):
    buffer, trained, played_so_far = DelayedDesigns(delay=delay), [], {}
    for update, count in enumerate(designs):
        buffer = buffer.with_samples([sample(f"{update}-{at}", update) for at in range(count)])
        results = [played(each.env, update) for each in buffer.samples]
        for result in results:
            played_so_far[result.env] = played_so_far.get(result.env, 0) + 1
        buffer = buffer.with_results(results)
        buffer = from_json(DelayedDesigns, json.loads(json.dumps(as_json(buffer))))
        if update % skip == 0:
            due, buffer = buffer.due(update)
            assert all(each.sample.update + delay <= update for each in due)
            trained += due
    due, buffer = buffer.flush()
    trained += due
    keys = [each.sample.key for each in trained]
    assert len(set(keys)) == len(keys) == sum(designs)
    assert all(len(each.results) == played_so_far[each.sample.env] for each in trained)
    assert buffer == DelayedDesigns(delay=delay)


def test_what_is_twice_is_refused():
    buffer = DelayedDesigns(delay=1).with_samples([sample("a", 0)])
    with pytest.raises(DataError, match="share"):
        buffer.with_samples([sample("a", 1, env="other")])
    with pytest.raises(DataError, match="share"):
        buffer.with_samples([sample("b", 1, env="env-a")])
    assert len(buffer.with_samples([sample(str(at), 1, env=None) for at in range(3)]).samples) == 4
    with pytest.raises(DataError):
        DelayedDesigns(delay=-1)
