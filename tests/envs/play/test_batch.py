import numpy as np
from gymnasium.vector import VectorEnv

from spade_envs.play.batch import batch_infos


def gymnasium_way(infos):
    env = VectorEnv()
    env.num_envs = len(infos)
    batched = {}
    for index, info in enumerate(infos):
        batched = env._add_info(batched, info or {}, index)
    return batched


def same(one, two):
    assert one.keys() == two.keys()
    for key, value in one.items():
        if isinstance(value, dict):
            same(value, two[key])
        else:
            assert value.dtype == two[key].dtype
            assert value.tolist() == two[key].tolist()


def test_ordinary_infos_are_batched_as_gymnasium_does():
    infos = [
        {"success": True, "n": 3, "x": 0.5, "name": "a", "deep": {"k": 1, "s": "t"}},
        None,
        {"success": False, "n": 4, "name": None, "deep": {"k": 2}},
    ]
    same(batch_infos(infos), gymnasium_way(infos))


def test_mixed_types_under_one_key_become_objects():
    batched = batch_infos([{"v": 1}, {"v": "text"}, {"v": {"a": 1}}, {}])
    assert batched["v"].tolist() == [1, "text", {"a": 1}, None]
    assert batched["_v"].tolist() == [True, True, True, False]


def test_numbers_too_large_for_numpy_are_kept():
    assert batch_infos([{"v": 10**30}, {"v": 1}])["v"].tolist() == [10**30, 1]


def test_a_key_that_looks_like_a_mask_cannot_replace_one():
    batched = batch_infos([{"_v": "fake", "v": 1}])
    assert batched["_v"].dtype == np.bool_
