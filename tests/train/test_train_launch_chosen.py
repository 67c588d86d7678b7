"""The pool that `pool.ids` names."""

import pytest

pytest.importorskip("trl")

from spade_envs.errors import ConfigError
from spade_envs.store import open_store, starter_path
from spade_train.config import resolve
from spade_train.launch.chosen import chosen
from spade_train.launch.heldout import HeldStore, open_heldout
from spade_train.launch.run import _pool
from spade_train.loop import HeldOut


@pytest.fixture(scope="module")
def starter():
    return open_store(starter_path())


def _ids(records):
    return [record.id for record in records]


def test_ids_names_and_digests_choose_in_their_order_and_once(starter):
    one, two = starter.records()[:2]
    assert _ids(chosen(starter, [two.id, one.digest, two.digest])) == [two.id, one.id]
    assert len(chosen(starter, ())) == len(starter.records()) > 2


def test_a_list_is_read_past_comments_and_digests(starter, tmp_path):
    one, two = starter.records()[:2]
    path = tmp_path / "pool.txt"
    path.write_text(f"# chosen\n\n{two.id}  {two.digest}\n{one.id}\n", encoding="utf-8")
    assert _ids(chosen(starter, [str(path)])) == [two.id, one.id]


@pytest.mark.parametrize(
    ("ids", "why"),
    [(["spade/none-v0"], "no environment"), (["gone.txt"], "cannot read"), (["x y"], "pool.ids")],
)
def test_what_is_not_there_is_one_clear_error(starter, ids, why):
    with pytest.raises(ConfigError, match=why):
        chosen(starter, ids)


def test_an_empty_list_is_refused(starter, tmp_path):
    path = tmp_path / "pool.txt"
    path.write_text("# nothing\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="names no environment"):
        chosen(starter, [str(path)])


def test_training_plays_and_evaluates_the_chosen_alone(starter):
    games = [record for record in starter.records() if record.kind == "text"][:2]
    config = resolve(
        "quickstart",
        settings=[
            "pool.source=starter",
            f"pool.ids={games[0].id},{games[1].id}",
            "evaluation.source=pool",
            "designer.interval=0",
            "designer.train=false",
        ],
    )
    _, pool = _pool(config, HeldStore(HeldOut()))
    assert [env.digest for env in pool] == [record.digest for record in games]
    held = open_heldout(config, starter.root).held
    assert {env.digest for env in held.envs} == {record.digest for record in games}


def test_ids_need_a_store():
    with pytest.raises(ConfigError, match="needs a store in source"):
        resolve("quickstart", settings=["pool.ids=spade/a-v0"])
