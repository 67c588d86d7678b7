"""A store in figures: counts by hand, curves from the ledger, and a page deaf to what it shows."""

import pytest

from envs.memory.kit_memory import Axes, add_about
from envs.reports.kit_reports import NASTY
from envs.reports.test_reports_page import Reader
from spade_envs.intervals import wilson
from spade_envs.memory import open_memory
from spade_envs.reports.charts import histogram, share_bar
from spade_envs.reports.store_stats import played_of, render_stats, stats_of
from spade_envs.store import open_store
from spade_envs.store.plays import INSTANCE, Cell, Figures
from spade_envs.store.rejected import Refused


def figures(plays, successes, hinted=0, hinted_successes=0):
    return Figures(
        plays=plays, successes=successes, hinted=hinted, hinted_successes=hinted_successes
    )


def refused(stage, gate=None, reason="no"):
    return Refused(
        key="k", stage=stage, gate=gate, reason=reason, attempt=0, entry=None, source=None
    )


@pytest.fixture
def memory(tmp_path):
    store = open_store(tmp_path / "store", create=True)
    for number, (text, skill) in enumerate(
        [("ferry", "optimization"), ("ferry", "optimization"), ("kiln", "logical-deduction")]
    ):
        add_about(store, f"{text} {number}", name=f"env-{number}", skills=(skill,))
    add_about(store, "kiln gone", name="gone")
    store.withdraw("gone", "no use")
    memory = open_memory(store, Axes("ferry train kiln"))
    memory.refresh()
    return memory


def test_everything_is_counted(memory):
    digests = [memory.store.get(f"env-{n}").digest for n in range(3)]
    cells = {
        Cell(digests[0], "m", 0, INSTANCE): figures(4, 1, 4, 3),
        Cell(digests[2], "m", 0, INSTANCE): figures(4, 3),
        Cell(digests[2], "m", 2, INSTANCE): figures(2, 0),
        Cell("sha256:" + "0" * 64, "m", 0, INSTANCE): figures(9, 9),  # of another store
    }
    kept = [refused("gates", "L3.3"), refused("gates", "L3.3"), refused("parse")]
    shapes = dict(zip(digests, "aab", strict=True))

    found = stats_of(memory, cells=cells, refused=kept, shapes=shapes)

    assert (found.environments, found.withdrawn) == (3, 1)
    assert found.skills == (("optimization", 2), ("logical-deduction", 1))
    assert found.refused == (("L3.3", 2), ("parse", 1))
    assert found.acceptance == 0.5
    assert found.families == (("spade/env-0-v0", 2), ("spade/env-2-v0", 1))
    assert found.diversity.distances == pytest.approx((0.0, 0.0, 1.0))
    assert found.diversity.vendi == pytest.approx(3 / 2 ** (2 / 3))  # shares 2/3 and 1/3
    assert found.played.success == (0.25, 0.5)
    assert found.played.regret == (0.5,)
    (curve,) = found.played.curves
    assert (curve.policy, curve.plays, curve.hinted) == ("m", 10, 4)
    assert curve.plain == {0: (0.5, *wilson(4, 8)), 2: (0.0, *wilson(0, 2))}
    assert curve.with_hint == {0: (0.75, *wilson(3, 4))}
    regret, low, high = curve.regret[0]  # of the one that was played both ways
    assert list(curve.regret) == [0]
    assert regret == 0.5
    assert low < 0.5 < high
    plain = found.as_json()
    assert plain["designs"] == {"acceptance": 0.5, "refused": {"L3.3": 2, "parse": 1}}
    assert plain["plays"]["curves"][0]["success"]["2"][0] == 0.0
    assert plain["plays"]["curves"][0]["regret"]["0"][0] == 0.5
    assert plain["diversity"]["nearest"]["1"] == pytest.approx(1.0)


def test_players_with_most_plays_come_first_and_unknown_levels_make_no_curve():
    digest = "sha256:" + "1" * 64
    cells = {
        Cell(digest, "few", 1, INSTANCE): figures(1, 1),
        Cell(digest, "many", 1, INSTANCE): figures(5, 1),
        Cell(digest, "vague", None, INSTANCE): figures(50, 1),
    }
    found = played_of(cells)
    assert [curve.policy for curve in found.curves] == ["many", "few"]
    assert found.success == (3 / 56,)
    assert played_of({}).curves == ()


def test_regret_is_over_the_environments_own_hint_alone():
    digest = "sha256:" + "1" * 64
    strategy = "strategy:" + "0" * 12
    cells = {
        Cell(digest, "m", 0, INSTANCE): figures(4, 1, 4, 2),
        Cell(digest, "m", 0, strategy): figures(4, 3, 4, 4),
    }
    found = played_of(cells)
    assert (found.success, found.regret) == ((0.5,), (0.25,))
    (curve,) = found.curves
    assert (curve.plain[0][0], curve.with_hint[0][0], curve.hinted) == (0.5, 0.5, 4)


def test_the_page_holds_the_figures_and_spells_out_what_is_nasty(memory):
    cells = {
        Cell(memory.store.get("env-0").digest, NASTY[:100], 0, INSTANCE): figures(4, 1, 4, 3),
    }
    kept = [refused("gates", NASTY), refused("gates", "L3.3")]
    found = stats_of(memory, cells=cells, refused=kept, shapes={})

    page = render_stats(found, made_at="2026-01-02 03:04 UTC")

    reader = Reader(page)
    text = " ".join(reader.text.split())
    assert "3 environments" in text
    assert "1 withdrawn" in text
    assert "Vendi score: 1.9 effective environments of 3" in text
    assert "60 % of the designs" in text
    assert not {"script", "img", "iframe", "link"} & set(reader.tags)
    assert not any(name.startswith("on") for name in reader.attributes)
    assert reader.tags.count("figure") == 4  # distances, success, regret and one player


def test_an_empty_store_says_so(tmp_path):
    memory = open_memory(open_store(tmp_path / "s", create=True), Axes("ferry"))
    memory.refresh()
    found = stats_of(memory, cells={}, refused=[], shapes={})
    text = Reader(render_stats(found, made_at="now")).text
    for sentence in ("no environments yet", "nothing to compare", "Nothing was played"):
        assert sentence in text
    assert (found.acceptance, found.diversity.vendi) == (None, 0.0)


def test_charts_keep_to_their_frame():
    assert histogram([0, 0], 0, 1, "x") == ""
    assert histogram([], 0, 1, "x") == ""
    drawn = histogram([1, 4], -1.0, 1.0, "<b>")
    assert "-1.00 to 0.00: 1" in drawn
    assert 'height="130.0"' in drawn  # the greatest fills it
    assert 'height="32.5"' in drawn  # and a quarter of it a quarter
    assert "<b>" not in drawn
    assert 'class="fill" x="2" y="6" width="196.0"' in share_bar(7.0)
