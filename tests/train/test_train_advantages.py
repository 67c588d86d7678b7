import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spade_train.advantages import (
    agent_advantages,
    designer_advantages,
    importance_weights,
    role_gain,
    role_weights,
)
from spade_train.errors import DataError
from spade_train.types import Role

# Eighths are exact in binary, so that laws hold to the last bits.
rewards = st.integers(-8, 8).map(lambda eighths: eighths / 8)
batches = st.lists(st.tuples(rewards, st.integers(0, 3), st.booleans()), max_size=30)
KINDS = {
    "agent": agent_advantages,
    "skill": lambda *args, **kwargs: designer_advantages(*args, gain=32.0, **kwargs),
    "brief": lambda *args, **kwargs: designer_advantages(*args, baseline="brief", **kwargs),
}
laws = pytest.mark.parametrize("kind", KINDS)


def columns(batch):
    return tuple([row[at] for row in batch] for at in range(3))


@laws
@settings(deadline=None)
@given(batch=batches)
def test_sums_to_zero_within_each_group(kind, batch):
    values, groups, valid = columns(batch)
    found = KINDS[kind](values, groups, valid=valid)
    for group in set(groups):
        members = [at for at, each in enumerate(groups) if each == group]
        assert found.values[members].sum() == pytest.approx(0.0, abs=1e-6)
    assert not found.values[~found.informative].any()
    assert not (found.informative & ~found.valid).any()


@laws
@settings(deadline=None)
@given(batch=batches, shifts=st.lists(st.integers(-4, 4), min_size=4, max_size=4))
def test_a_shift_of_a_group_changes_nothing(kind, batch, shifts):
    values, groups, valid = columns(batch)
    shifted = [value + shifts[group] for value, group in zip(values, groups, strict=True)]
    before, after = (KINDS[kind](each, groups, valid=valid) for each in (values, shifted))
    assert after.values == pytest.approx(before.values, abs=1e-9)
    assert (after.informative == before.informative).all()


@laws
@settings(deadline=None)
@given(batch=batches, order=st.randoms())
def test_permutation(kind, batch, order):
    places = list(range(len(batch)))
    order.shuffle(places)
    before = KINDS[kind](*columns(batch)[:2], valid=columns(batch)[2])
    mixed = columns([batch[place] for place in places])
    after = KINDS[kind](*mixed[:2], valid=mixed[2])
    assert after.values == pytest.approx(before.values[places], abs=1e-9)
    assert (after.groups, after.flat_groups) == (before.groups, before.flat_groups)


@laws
@settings(deadline=None)
@given(batch=batches, junk=st.sampled_from([float("nan"), float("inf"), -1.0, 1e30]))
def test_faults_never_change_others(kind, batch, junk):
    values, groups, valid = columns(batch)
    spoilt = [value if good else junk for value, good in zip(values, valid, strict=True)]
    found = KINDS[kind](spoilt, groups, valid=valid)
    kept = [row for row in batch if row[2]]
    alone = KINDS[kind](*columns(kept)[:2])
    assert found.values[np.array(valid, dtype=bool)] == pytest.approx(alone.values, abs=1e-12)
    assert not found.values[~np.array(valid, dtype=bool)].any()
    assert (found.groups, found.flat_groups) == (alone.groups, alone.flat_groups)


@settings(deadline=None)
@given(batch=batches, scale=st.sampled_from([0.25, 3.0, 64.0]))
def test_z_scores_do_not_know_the_unit_and_centring_does(batch, scale):
    values, groups, valid = columns(batch)
    scaled = [value * scale for value in values]
    before, after = (agent_advantages(each, groups, valid=valid) for each in (values, scaled))
    assert after.values == pytest.approx(before.values, abs=1e-6)
    before, after = (designer_advantages(each, groups, valid=valid) for each in (values, scaled))
    assert after.values == pytest.approx(before.values * scale, abs=1e-9)


def test_zero_variance_is_exactly_zero():
    # The mean of three times 0.1 is not 0.1; divided by 1e-8 it would still be a gradient.
    found = agent_advantages([0.1] * 3 + [0.0, 1.0, 0.7], [*"aaabbc"])
    assert found.values.tolist()[:3] == [0.0, 0.0, 0.0]
    assert found.values[3:] == pytest.approx([-1.0, 1.0, 0.0], abs=1e-6)
    assert found.informative.tolist() == [False] * 3 + [True] * 2 + [False]
    assert (found.groups, found.flat_groups) == (3, 2)


def test_a_group_of_faults_is_no_group():
    found = agent_advantages([1.0, 0.0], ["a", "a"], valid=[False, False])
    assert (found.groups, found.flat_groups, found.valid.any()) == (0, 0, False)


def test_skills_have_their_own_baseline_and_briefs_theirs():
    scores = [0.9, 0.7, 0.2, 0.0]
    skills = designer_advantages(scores, ["easy", "easy", "hard", "hard"], gain=10.0)
    assert skills.values == pytest.approx([1.0, -1.0, 1.0, -1.0])
    briefs = designer_advantages(scores, ["b1", "b1", "b2", "b2"], baseline="brief")
    assert briefs.values == pytest.approx([1.0, -1.0, 1.0, -1.0], abs=1e-6)


TOKENS = st.lists(st.tuples(st.integers(0, 500), st.sampled_from(list(Role))), min_size=1)


@pytest.mark.parametrize("per", ["sample", "token"])
@settings(deadline=None)
@given(batch=TOKENS)
def test_role_weights_survive_the_token_normaliser(per, batch):
    tokens = np.array([row[0] for row in batch], dtype=float)
    roles = [row[1] for row in batch]
    shares = {Role.AGENT: 3.0, Role.DESIGNER: 1.0}
    weights = role_weights(tokens, roles, shares=shares, per=per)
    present = {role for role, count in zip(roles, tokens, strict=True) if count}
    total = sum(shares[role] for role in present)
    for role in present:
        mine = np.array([each == role for each in roles]) & (tokens > 0)
        part = (weights * tokens)[mine] / tokens.sum()
        assert part.sum() == pytest.approx(shares[role] / total)
        if per == "sample":
            assert part == pytest.approx(np.full(mine.sum(), part.mean()))
        else:
            assert weights[mine] == pytest.approx(np.full(mine.sum(), weights[mine][0]))
    assert not weights[tokens == 0].any()


def test_role_weights_by_hand():
    roles = [Role.AGENT, Role.AGENT, Role.DESIGNER]
    even = {Role.AGENT: 0.5, Role.DESIGNER: 0.5}
    # 100 tokens: a designer program of 80 would otherwise have four fifths of the gradient.
    found = role_weights([5, 15, 80], roles, shares=even)
    assert found == pytest.approx([0.5 * 100 / 10, 0.5 * 100 / 30, 0.5 * 100 / 80])
    found = role_weights([5, 15, 80], roles, shares=even, per="token")
    assert found == pytest.approx([2.5, 2.5, 0.625])


@settings(deadline=None)
@given(deltas=st.lists(st.floats(-1000, 1000), max_size=20), cap=st.floats(0.5, 10))
def test_importance_weights_are_capped_and_finite(deltas, cap):
    found = importance_weights(deltas, np.zeros(len(deltas)), cap=cap)
    expected = [np.exp(delta) if delta < np.log(cap) else cap for delta in deltas]
    assert found == pytest.approx(expected)


def test_bad_data():
    with pytest.raises(DataError):
        agent_advantages([1.0, float("nan")], ["a", "a"])
    with pytest.raises(DataError):
        agent_advantages([1.0], ["a", "a"])
    with pytest.raises(DataError):
        agent_advantages([1.0], ["a"], valid=[True, True])
    with pytest.raises(DataError, match="gain"):
        designer_advantages([1.0], ["a"], gain=0.0)
    with pytest.raises(DataError):
        role_gain(-1, 1, 1)
    with pytest.raises(DataError):
        role_gain(8, 1, 0)
    with pytest.raises(DataError):
        role_weights([1.0], [], shares={})
    with pytest.raises(DataError, match="shares"):
        role_weights([1.0], [Role.AGENT], shares={Role.DESIGNER: 1.0})
    with pytest.raises(DataError):
        importance_weights([0.0], [0.0, 0.0])
