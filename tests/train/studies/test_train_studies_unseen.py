"""Success on families that fixed pools do not hold: by hand, from records, in words."""

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from envs.reports.test_reports_page import Reader
from spade_train.cli import main
from spade_train.reports import read
from spade_train.studies.comparison import compare, verdicts
from spade_train.studies.outcome import outcome
from spade_train.studies.page import render
from spade_train.studies.plan import jobs, open_study, study_of
from spade_train.studies.study import gather
from spade_train.studies.unseen import SeedPool, smallest_pools, unseen_success
from train.reports.kit_runs import event, make_run, write_lines

ARMS = ("coevolution", "narrow-pool", "broad-pool")
POOLS = {"narrow-pool": (("hops", "walk"), ("words",)), "broad-pool": (("hops", "walk", "words"),)}
# Success on walk, words and hops at the end, with seed 0 and with seed 1.
RATES = {
    "coevolution": ((0.5, 0.6, 0.2), (0.7, 0.1, 0.5)),
    "narrow-pool": ((0.9, 0.4, 0.9), (0.4, 0.9, 0.6)),
    "broad-pool": ((0.6, 0.5, 0.3), (0.6, 0.2, 0.5)),
}


def make_study(path):
    """Write runs that end at the rates above, with the pools above."""
    study = study_of("quickstart", ARMS, (0, 1))
    open_study(study, path)
    for job in jobs(study):
        run = make_run(
            job.folder(path), updates=11, seed=job.seed, overlays=job.arm.overlays, gain=0.1
        )
        record = read(run)
        rates = dict(zip(("walk", "words", "hops"), RATES[job.arm.name][job.seed], strict=True))
        ends = {f"eval/success/{family}": rate for family, rate in rates.items()}
        early = dict.fromkeys(ends, 0.01)
        lines = [dict(line) for line in record.metrics]
        lines[0] |= early
        lines[-1] |= ends
        write_lines(run / "metrics.jsonl", lines)
        pools = POOLS.get(job.arm.name, ())
        write_lines(
            run / "events.jsonl",
            [
                *(written(family) for family in (pools[job.seed % len(pools)] if pools else ())),
                written("shift", env=None),
                written(""),
                *record.events,
            ],
        )
    return study


def written(family, env="sha256:0"):
    return event("designed", -1, env=env, family=family)


@pytest.fixture(scope="module")
def outcome_of(tmp_path_factory):
    """Give a function that makes outcomes."""
    bare = outcome(read(make_run(tmp_path_factory.mktemp("bare") / "run", updates=2)), "x", 0)

    def made(arm, seed, pool=(), **groups):
        return replace(bare, arm=arm, seed=seed, pool_families=pool, groups=groups)

    return made


def test_a_pool_holds_the_families_of_its_accepted_programs(tmp_path):
    found = gather(make_study(tmp_path / "s"), tmp_path / "s")
    assert {(each.arm, each.seed): each.pool_families for each in found.outcomes} == {
        ("coevolution", 0): (),  # what is written for it later is no pool
        ("coevolution", 1): (),
        ("narrow-pool", 0): ("hops", "walk"),  # neither the refused nor the nameless program
        ("narrow-pool", 1): ("words",),
        ("broad-pool", 0): ("hops", "walk", "words"),
        ("broad-pool", 1): ("hops", "walk", "words"),
    }


def test_the_smallest_pool_of_each_seed_decides_what_is_unseen(outcome_of):
    runs = [
        outcome_of("a", 0, walk=0.5, words=0.2, hops=0.1, numbers=0.9, **{"level-1": 0.3}),
        outcome_of("b", 0, ("hops", "walk"), walk=0.5, words=0.6, hops=0.1, ripple=1.0),
        outcome_of("c", 0, ("hops",), walk=0.5, words=0.9, hops=0.1),
        outcome_of("d", 0, ("walk",), walk=0.5, words=0.9, hops=0.1),
        outcome_of("a", 1, walk=0.5),
        outcome_of("a", 2, walk=0.5),
        outcome_of("b", 2, ("walk",), walk=0.5),
    ]
    pools = smallest_pools(runs)
    # Seed 0: the first of two equal ones. Not all runs know ripple; numbers is no family.
    assert pools == (
        SeedPool(seed=0, arm="c", families=("hops",), unseen=("words", "walk")),
        SeedPool(seed=2, arm="b", families=("walk",), unseen=()),
    )
    assert unseen_success(runs[:1] + runs[4:6], pools) == {0: pytest.approx(0.35)}
    assert unseen_success(runs[1:2] + runs[6:], pools) == {0: pytest.approx(0.55)}


def test_the_table_judges_on_unseen_families_first(tmp_path):
    comparison = gather(make_study(tmp_path / "s"), tmp_path / "s").comparison
    rows = {row.arm: row for row in comparison.rows}
    # Seed 0 lacks words: .6 .4 .5. Seed 1 lacks hops and walk: .6 .5 .55.
    assert rows["coevolution"].unseen.mean == pytest.approx(0.6)
    assert rows["narrow-pool"].unseen.mean == pytest.approx(0.45)
    assert rows["broad-pool"].unseen.mean == pytest.approx(0.525)
    assert rows["coevolution"].unseen_lead is None
    # Leads .2 and .1: half width 12.7062 x .0707 / sqrt(2)
    lead = rows["narrow-pool"].unseen_lead
    assert (lead.mean, lead.high) == (pytest.approx(0.15), pytest.approx(0.15 + 0.63531, abs=1e-5))
    assert rows["broad-pool"].unseen_lead.mean == pytest.approx(0.075)
    assert comparison.best_unseen == "broad-pool"
    assert [pool.unseen for pool in comparison.pools] == [("words",), ("hops", "walk")]
    words = verdicts(comparison)
    assert words[0].startswith(
        "coevolution and broad-pool (the best baseline) are not told apart on families that the "
        "smallest fixed pool lacks: +7.5 points ["
    )
    assert "narrow-pool are not told apart on families that" in words[1]
    assert " on all held-out families: +0.0 points" in words[2]


def test_leads_on_unseen_families_are_named(outcome_of):
    study = study_of("quickstart", ("coevolution", "narrow-pool"), (0, 1, 2))
    runs = [
        outcome_of(arm, seed, pool, walk=rate + seed / 10, hops=0.5 * bool(pool))
        for arm, pool, rate in (("coevolution", (), 0.3), ("narrow-pool", ("hops",), 0.2))
        for seed in (0, 1, 2)
    ]
    assert verdicts(compare(study, runs))[:2] == (
        "coevolution leads narrow-pool (the best baseline) on families that the smallest fixed "
        "pool lacks: +10.0 points [+10.0, +10.0].",
        "coevolution and narrow-pool (the best baseline) are not told apart on all held-out "
        "families: +0.0 points [+0.0, +0.0].",
    )


def test_without_unseen_families_nothing_is_said_of_them(outcome_of):
    study = study_of("quickstart", ("coevolution", "narrow-pool"), (0,))
    runs = [outcome_of("coevolution", 0, walk=0.5), outcome_of("narrow-pool", 0, walk=0.4)]
    bare = compare(study, runs)
    assert (bare.pools, bare.best_unseen) == ((), "")
    assert [row.unseen for row in bare.rows] == [None, None]
    assert "on all" not in verdicts(bare)[0]
    full = compare(study, [runs[0], replace(runs[1], pool_families=("walk",))])
    assert (full.rows[1].unseen_lead, full.best_unseen) == (None, "")
    assert verdicts(full)[0].endswith("hold every held-out family, so none is unseen.")


def test_page_and_command_show_them(tmp_path, monkeypatch):
    found = gather(make_study(tmp_path / "s"), tmp_path / "s")
    page = render(found.comparison, found.records, title="t", made_at="now")
    text = Reader(page).text
    assert "success on unseen families" in text
    assert page.index("Families that the smallest fixed pools lack") < page.index("<h2>Arms")
    assert "+15.0 points [-48.5, +78.5]" in text
    assert "hops, walk" in text
    monkeypatch.setattr("spade_train.studies.study.write_heldout", lambda *_, **__: None)
    done = CliRunner().invoke(
        main, ["compare", "--arms", ",".join(ARMS), "--seeds", "2", "--out", str(tmp_path / "s")]
    )
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0].split("  ")[0].strip() == "arm"
    assert "success on unseen families" in lines[0]
    assert lines[2].startswith("narrow-pool  2  45.0 % [")
    assert "+15.0 [-48.5, +78.5]" in lines[2]
    assert max(map(len, lines[:8])) <= 100
    written_down = json.loads((tmp_path / "s" / "compare.json").read_text())
    assert written_down["comparison"]["pools"][1]["unseen"] == ["hops", "walk"]
    assert written_down["comparison"]["rows"][2]["unseen"]["mean"] == pytest.approx(0.525)
    assert written_down["runs"][2]["pool_families"] == ["hops", "walk"]
