"""Where a store has its environments from, whoever else offers the same bytes."""

import json

import pytest
from click.testing import CliRunner

from envs.store.kit import add
from spade_envs.cli.main import cli
from spade_envs.errors import NotTrusted
from spade_envs.sharing import make_lock, pull, push
from spade_envs.store import open_store
from spade_envs.trust.runs import source_to_run, standing
from spade_envs.trust.settings import allow


def run(*arguments):
    return CliRunner().invoke(cli, [str(each) for each in arguments])


@pytest.fixture
def places(tmp_path, stores):
    """A team's folder and a stranger's with the same bytes."""
    add(stores[0], 1, name="maze")
    found = [tmp_path / "team", tmp_path / "evil"]
    for place in found:
        push(str(place), stores[0])
    return found


def plea_of(store):
    with pytest.raises(NotTrusted) as caught:
        source_to_run(store, store.get("maze"))
    return str(caught.value)


def test_a_later_copy_elsewhere_is_only_told_as_another_offer(places, stores):
    (team, evil), (_, bob, carol) = places, stores
    pull(str(team), bob)
    pull(str(evil), carol)
    for store, its, other in ((bob, team, evil), (carol, evil, team)):
        said = plea_of(store)
        assert f"comes from {its} (also offered by {other})" in said
        assert said.endswith(f"spade-envs trust add --from {its}")
        (shown,) = json.loads(run("audit", "--store", store.root, "--json").stdout)
        assert (shown["remote"], shown["also_offered"]) == (str(its), [str(other)])
        assert list(make_lock(store).remotes.values()) == [str(its)]
    one = " ".join(run("audit", "spade/maze-v0", "--store", bob.root).stdout.split())
    assert one.index("pulled from") < one.index("also offered by") < one.index("signed by")
    allow("", str(evil))
    assert standing(bob.get("maze").digest).consented


def test_a_store_without_a_note_is_told_no_remote_to_trust(places, stores, tmp_path):
    (team, evil), (_, bob, carol) = places, stores
    pull(str(team), bob)
    pull(str(evil), carol)
    (tmp_path / "link").symlink_to(bob.root)
    assert f"comes from {team} " in plea_of(open_store(tmp_path / "link"))
    said = plea_of(open_store(bob.root.rename(tmp_path / "moved")))
    assert f"was pulled from {team} into another store (also offered by {evil})" in said
    assert said.endswith("spade-envs trust add --from REMOTE")
    again = open_store(bob.root, create=True)
    done = run("pull", evil, "--store", again.root)
    assert f"trust add --from {evil}" in done.output
    assert run("pull", team, "--store", again.root).exit_code == 0
    assert plea_of(again).endswith(f"--from {evil}")
