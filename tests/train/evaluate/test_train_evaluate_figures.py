import csv
import json
import math
from dataclasses import replace

import pytest

from spade_envs.errors import ConfigError
from spade_envs.intervals import wilson
from spade_train.evaluate.compare import FLIPS, MCNEMAR, compare, mcnemar, sign_flips
from spade_train.evaluate.layouts import ACEBENCH_WEIGHTS, LAYOUTS
from spade_train.evaluate.records import Header, Record
from spade_train.evaluate.summary import figures, summarize
from spade_train.evaluate.table import as_csv, as_json, by_layout, by_suite, latex, markdown
from spade_train.reports.evaluations import render
from spade_train.suites.ace_plain import NORMAL, SPECIAL
from spade_train.suites.base import UNANSWERED, Fault

HEADER = Header(
    suite="sums",
    version="1",
    settings={},
    labels={},
    player="model",
    identity={},
    decoding={"temperature": 0.0},
    seed=0,
    samples=1,
    tasks=4,
    group_tasks={"a": 2, "b": 2},
)


def attempts(wins, group="a", **more):
    """One row of wins per task, one entry per sample."""
    return [
        Record(
            task=f"{group}{n}",
            group=group,
            sample=sample,
            seed=0,
            value=float(won),
            success=bool(won),
            **more,
        )
        for n, row in enumerate(wins)
        for sample, won in enumerate(row)
    ]


FAULT = Record(task="x", group="b", sample=0, seed=0, fault=Fault("score", "timed out after 1 s"))


def test_one_attempt_per_task_has_wilsons_interval():
    found = figures(attempts([[1], [1], [1], [0]]))
    assert (found.success, found.tasks, found.attempts) == (0.75, 4, 4)
    assert (found.low, found.high) == wilson(3, 4)
    assert found.low == pytest.approx(0.3006, abs=1e-4)
    assert found.sample_deviation is None


def test_attempts_at_one_task_are_worth_what_their_spread_says():
    alike = figures(attempts([[1] * 8, [0] * 8, [1] * 8, [0] * 8]))
    assert (alike.low, alike.high) == wilson(2, 4)
    unlike = figures(attempts([[1, 0] * 4] * 4))
    assert (unlike.low, unlike.high) == wilson(16, 32)
    some = figures(attempts([[1, 1], [1, 0], [0, 0], [1, 1]]))
    # variance of the mean 0.6875 / 3 / 4, so 0.234375 / 0.05729 = 4.09 attempts
    assert (some.low, some.high) == wilson(2.5, 4)
    assert figures(attempts([[1, 1], [1, 1]])).low == wilson(2, 2)[0]


def test_means_over_samples_and_shares_of_tasks():
    found = figures(attempts([[1, 1], [1, 0], [0, 0], [1, 1]]))
    assert found.any_success == 0.75
    assert found.all_success == 0.5
    assert found.sample_deviation == pytest.approx(math.sqrt(0.03125))  # of 0.75 and 0.5
    half = 1.959963984540054 * math.sqrt(0.03125 / 2)
    assert found.sample_low == pytest.approx(0.625 - half)


def test_a_task_with_fewer_attempts_counts_as_much():
    assert figures(attempts([[1, 1, 1], [0]])).success == 0.5


def test_faults_are_apart_and_never_scores():
    found = summarize(HEADER, [*attempts([[1], [0]]), FAULT])
    assert found.overall.success == 0.5
    assert (found.overall.faults, found.overall.attempts) == (1, 2)
    assert found.groups["b"].success is None
    assert found.macro == 0.5
    assert found.faults == {"score: timed out after 1 s": 1}
    nothing = summarize(HEADER, [FAULT])
    assert nothing.overall.success is nothing.macro is None
    json.dumps(nothing.as_json())


def test_a_policy_of_faults_alone_is_explained_in_every_form():
    faulty = summarize(replace(HEADER, player="step-1"), [FAULT])
    (table,) = by_suite([faulty, *(summary(f"step-{n}", {"b": [[1]]}) for n in (2, 3))])
    told = "step-1: no result, 1 fault, most often score: timed out after 1 s."
    assert told in table.notes
    assert "| step-1 | –* |" in markdown(table)
    assert r"step-1 & --\textsuperscript{*} \\" in latex(table)
    first = next(csv.DictReader(as_csv([table]).split("\n")))
    assert (first["row"], first["success"]) == ("step-1", "")
    assert first["note"] == "no result, 1 fault"
    assert as_json(table)["rows"][0]["cells"]["all"]["success"] is None
    page = render([table], [], made_at="now")
    assert page.count("<circle") == 2
    assert '–<abbr title="no result, 1 fault">' in page
    unanswered = replace(FAULT, fault=UNANSWERED)
    (oracle,) = by_suite([summarize(replace(HEADER, player="oracle"), [unanswered])])
    assert oracle.rows[0].cells == (None,)
    layout = by_layout(
        [replace(faulty, header=replace(faulty.header, suite="gpqa"))], LAYOUTS["reasoning"]
    )
    assert layout.rows == ()


@pytest.mark.parametrize(
    ("better", "worse", "p"),
    [(5, 1, 0.21875), (0, 0, 1.0), (10, 0, 2 / 1024), (3, 3, 1.0), (1500, 1300, 0.000166)],
)
def test_mcnemar(better, worse, p):
    assert mcnemar(better, worse) == mcnemar(worse, better)
    assert mcnemar(better, worse) == pytest.approx(p, rel=0.02)


def test_sign_flips():
    assert sign_flips([1.0, 1.0, 1.0]) == 0.25
    assert sign_flips([1.0, 1.0, 1.0, 0.0]) == 0.25
    assert sign_flips([0.5, -0.5]) == sign_flips([]) == 1.0
    assert sign_flips([0.25] * 20) == pytest.approx(1 / 20_001)
    assert sign_flips([0.5, -0.25] * 20, seed=3) == sign_flips([0.5, -0.25] * 20, seed=3)


def test_two_players_are_compared_task_by_task():
    one, other = attempts([[1], [1], [1], [0]]), attempts([[0], [1], [0], [0]])
    found = compare((HEADER, one), (replace(HEADER, player="base"), [*other, FAULT]))
    assert (found.difference, found.tasks, found.p) == (0.5, 4, 0.5)
    assert (found.only_first, found.only_second, found.method) == (2, 0, MCNEMAR)
    assert found.low < 0.5 < found.high
    many = compare(
        (replace(HEADER, samples=2), attempts([[1, 0], [1, 1]])),
        (HEADER, attempts([[0], [0]])),
    )
    assert (many.difference, many.method) == (0.75, FLIPS)


def test_other_suites_are_not_compared():
    records = attempts([[1]])
    with pytest.raises(ConfigError, match="cannot be compared"):
        compare((HEADER, records), (replace(HEADER, version="2"), records))
    with pytest.raises(ConfigError, match="no task"):
        compare((HEADER, records), (HEADER, attempts([[1]], "b")))


def summary(player, wins, **header):
    records = [r for group, rows in wins.items() for r in attempts(rows, group)]
    groups = {group: len(rows) for group, rows in wins.items()}
    return summarize(replace(HEADER, player=player, group_tasks=groups, **header), records)


def test_a_table_of_a_suite_has_policies_first_and_floors_last():
    wins = {"a": [[1], [0]], "b": [[1], [1]]}
    names = ["random", "empty", "step-100", "oracle", "constant=4", "step-20"]
    (table,) = by_suite([summary(name, wins) for name in names])
    assert [row.name for row in table.rows] == [
        "step-20", "step-100", "oracle", "empty", "constant=4", "random",
    ]  # fmt: skip
    assert [row.kind for row in table.rows] == ["policy", "policy", "oracle", *["floor"] * 3]
    assert table.columns == ("a", "b", "all")
    assert [cell.success for cell in table.rows[0].cells] == [0.5, 1.0, 0.75]
    assert len(by_suite([summary("m", wins), summary("m", wins, version="2")])) == 2


def test_an_evaluation_that_is_not_done_says_so():
    (table,) = by_suite([summary("m", {"a": [[1]], "b": [[0]]}, limit=3)])
    assert table.rows[0].cells[-1].note == "2 of 3 attempts so far"
    assert "m, 2 results: 2 of 3 attempts so far." in table.notes
    (whole,) = by_suite([summary("m", {"a": [[1]], "b": [[0]]}, tasks=2)])
    assert whole.rows[0].cells[-1].note == ""


RG = {"math": [[1]], "algorithmic": [[0]], "cognition": [[1], [0]], "logic": [[0]]}


def test_the_layout_of_reasoning_averages_what_was_measured():
    found = [
        summary("model", RG, suite="reasoning-gym-hard"),
        summary("model", {"AIME-24": [[0]], "AIME-25": [[1]]}, suite="aime"),
        summary("oracle", RG, suite="reasoning-gym-hard"),
    ]
    table = by_layout(found, LAYOUTS["reasoning"])
    model, oracle = table.rows
    assert table.columns[-1] == "Average of 5"
    assert [c and c.success for c in model.cells] == [1, None, None, None, 1, 0, 0.5, 0, 0.5]
    assert oracle.cells[-1] is None
    assert any("5 columns" in note for note in table.notes)


def test_single_turn_bfcl_is_weighted_as_upstream():
    right, half, wrong = [[1]], [[1], [0]], [[0]]
    wins = {
        "simple_python": right, "simple_java": wrong, "simple_javascript": half,
        "multiple": right, "parallel": right, "parallel_multiple": wrong, "irrelevance": half,
        "live_simple": wrong, "live_multiple": right, "live_parallel": wrong,
        "live_parallel_multiple": half, "live_irrelevance": right,
    }  # fmt: skip
    table = by_layout([summary("m", wins, suite="bfcl-single-turn")], LAYOUTS["tool-use"])
    cells = dict(zip(table.columns, table.rows[0].cells, strict=True))
    assert cells["BFCL-v4 non-live"].success == pytest.approx((0.5 + 1 + 1 + 0) / 4)
    assert cells["BFCL-v4 live"].success == pytest.approx((1053 + 12) / 1351)
    assert cells["BFCL-v4 irrelevance"].success == pytest.approx(0.75)
    assert table.columns[-1] == "ACEBench"  # no average of nothing: none of these is in it
    assert len(cells) == len(table.columns) == len(table.rows[0].cells)
    assert not any("average" in note for note in table.notes)
    del wins["simple_java"]
    table = by_layout([summary("m", wins, suite="bfcl-single-turn")], LAYOUTS["tool-use"])
    assert table.rows[0].cells[table.columns.index("BFCL-v4 non-live")] is None


def test_a_column_takes_the_evaluation_that_has_most_of_it():
    half = {"aime-24": [[0]] * 30, "aime-25": [[0]] * 15}
    whole = summary("m", {"aime-25": [[1]] * 30}, suite="aime-25")
    for found in ([summary("m", half, suite="aime"), whole], [whole]):
        table = by_layout(found, LAYOUTS["reasoning"])
        assert table.rows[0].cells[0].success == 1.0


def test_a_layout_tells_what_is_to_be_known_of_its_figures():
    wins = {"retail": [[1]], "airline": [[1]], "telecom": [[0]]}
    scripted = summary("m", wins, suite="tau2", tasks=278, limit=3, labels={"user": "scripted"})
    table = by_layout([scripted], LAYOUTS["tool-use"])
    cells = dict(zip(table.columns, table.rows[0].cells, strict=True))
    assert cells["Tau2-Retail"].note == "the first 3 of 278 tasks"
    assert cells["Average of 3"].note == "of figures some of which have notes"
    told = "m, Tau2-Retail, Tau2-Airline, Tau2-Telecom: the first 3 of 278 tasks."
    assert told in table.notes
    assert "Played: tau2 (1, user: scripted)." in table.notes
    other = summary("n", wins, suite="tau2", tasks=3, labels={"user": "model x"})
    table = by_layout([scripted, other], LAYOUTS["tool-use"])
    assert "Played: tau2 (1, user: scripted) by m." in table.notes
    assert "Played: tau2 (1, user: model x) by n." in table.notes
    assert dict(zip(table.columns, table.rows[1].cells, strict=True))["Average of 3"].note == ""


def test_a_weighted_figure_has_the_notes_of_its_parts():
    groups = {"irrelevance": 2, "live_irrelevance": 1}
    records = [
        *attempts([[1]], "irrelevance"),
        *attempts([[1]], "live_irrelevance"),
        replace(FAULT, group="irrelevance"),
    ]
    header = replace(HEADER, suite="bfcl-single-turn", tasks=3, group_tasks=groups)
    table = by_layout([summarize(header, records)], LAYOUTS["tool-use"])
    cell = table.rows[0].cells[table.columns.index("BFCL-v4 irrelevance")]
    assert (cell.success, cell.note) == (1.0, "1 faults left out")


def test_faults_beside_tasks_without_a_reference_are_told():
    records = [*attempts([[1]]), FAULT, replace(FAULT, task="y", fault=UNANSWERED)]
    found = summarize(replace(HEADER, player="oracle"), records)
    assert (found.overall.faults, found.overall.unanswered) == (2, 1)
    (table,) = by_suite([found])
    assert "1 faults left out" in table.rows[0].cells[-1].note


def test_acebench_is_weighted_as_published():
    plain = {name: [[1]] for name in (*NORMAL, *SPECIAL)}
    plain |= {"atom_bool": [[0]] * 9 + [[1]], "irrelevant": [[0]]}
    agent = {"multi_step": [[1]], "multi_turn": [[0], [0]]}
    found = [summary("m", plain, suite="acebench"), summary("m", agent, suite="acebench-agent")]
    table = by_layout(found, LAYOUTS["tool-use"])
    cells = dict(zip(table.columns, table.rows[0].cells, strict=True))
    assert cells["ACE-Normal"].success == pytest.approx((11 + 0.1) / 12)
    assert cells["ACE-Special"].success == pytest.approx(2 / 3)
    assert cells["ACE-Agent"].success == pytest.approx(0.5)
    overall = 0.578 * 11.1 / 12 + 0.2676 * 2 / 3 + 0.1545 * 0.5
    assert cells["ACEBench"].success == pytest.approx(overall)
    assert cells["Average of 1"].success == cells["ACEBench"].success
    assert sum(ACEBENCH_WEIGHTS) == pytest.approx(1.0, abs=2e-4)
    partial = by_layout([summary("m", agent, suite="acebench-agent")], LAYOUTS["tool-use"])
    assert partial.rows[0].cells[partial.columns.index("ACEBench")] is None


def of_store(name, digest, **more):
    labels = {"hint": "not shown", "store": name} if name else {"hint": "not shown"}
    found = summary("m", {"a": [[1]], "b": [[0]]}, suite="heldout")
    header = replace(found.header, labels=labels, settings={"tasks": digest}, **more)
    return replace(found, header=header)


def test_a_store_is_told_in_titles_and_makes_no_record_another():
    old, new = of_store("", "x").header, of_store("mine", "x").header
    assert (new.folder, new.suite_digest) == (old.folder, old.suite_digest)
    hinted = replace(new, labels={**new.labels, "hint": "shown"})
    assert hinted.suite_digest != new.suite_digest
    other = replace(old, suite="my_suite")  # whose label may say what its settings do not
    assert replace(other, labels=new.labels).digest != other.digest
    stores = [of_store(name, digest) for name, digest in (("mine", "x"), ("b|c", "y"))]
    assert [table.title for table in by_suite(stores)] == [
        "heldout (1, hint: not shown, store: mine)",
        "heldout (1, hint: not shown, store: b|c)",
    ]
    (copies,) = by_suite([of_store("mine", "x"), of_store("copy", "x", player="n")])
    assert copies.title == "heldout (1, hint: not shown, store: mine and copy)"


def test_no_two_tables_have_one_title():
    found = [of_store("mine", "x"), of_store("mine", "y")]
    told = [each.header.suite_digest[:6] for each in found]
    head = "heldout (1, hint: not shown, store: mine, settings "
    assert [table.title for table in by_suite(found)] == [f"{head}{each})" for each in told]


def test_tables_are_one_csv():
    tables = by_suite([of_store("mine", "x"), of_store("other", "y")])
    rows = list(csv.DictReader(as_csv(tables).split("\n")))
    assert [float(row["success"]) for row in rows] == [1.0, 0.0, 0.5] * 2
    assert len({(row["table"], row["row"], row["column"]) for row in rows}) == 6
    assert "\n\n" not in as_csv(tables)
    assert as_csv([]) == "table,row,kind,column,success,low,high,note"


def test_hostile_names_do_not_break_the_forms():
    name = "a|b\n<script>&_\\x"
    (table,) = by_suite([summary(name, {"a": [[1]], "b|&": [[0]]})])
    text = markdown(table)
    rows = [line.replace("\\|", "") for line in text.splitlines() if line.startswith("|")]
    assert {row.count("|") for row in rows} == {5}
    assert "<script>" not in text
    assert r"a|b <script>\&\_\textbackslash{}x" in latex(table)
    rows = as_csv([table]).splitlines()
    assert len(rows) == 4
    assert rows[1].endswith("a,1.000000,0.206549,1.000000,2 of 4 attempts so far")
    page = render([table], [], made_at="now")
    assert "<script>" not in page
    assert "a|b" in page
    json.dumps(as_json(table))


@pytest.mark.parametrize("name", ["10²", "9" * 5000, "step-٣", "²"])
def test_names_of_odd_numbers_are_rows(name):
    wins = {"a": [[1]], "b": [[0]]}
    found = [summary(each, wins) for each in (name, "step-10", "step-2")]
    (table,) = by_suite(found)
    names = [row.name for row in table.rows]
    assert sorted(names) == sorted([name, "step-2", "step-10"])
    assert names.index("step-2") < names.index("step-10")
    assert "Over checkpoints" in render([table], [], made_at="now")


@pytest.mark.parametrize("name", ["=1+1", " @SUM(A1)", "+1", "-1", "\t=1"])
def test_names_do_not_compute_in_a_spreadsheet(name):
    (table,) = by_suite([summary(name, {"=cmd|' /C calc'!A0": [[1]], "b": [[1]]})])
    row = as_csv([table]).splitlines()[1].split(",")
    assert "'" + name.replace("\t", " ") in row
    assert "'=cmd|' /C calc'!A0" in row


def test_names_make_no_picture_and_no_link():
    name = "![x](http://other/x.png) [y] *z* `w`"
    (table,) = by_suite([summary(name, {"a": [[1]], "b": [[0]]})])
    text = markdown(table)
    assert r"| !\[x\](http://other/x.png) \[y\] \*z\* \`w\` |" in text
    assert " [20.7, 100.0] |" in text


def test_every_form_marks_a_figure_with_something_to_know():
    wins = {"a": [[1]], "b": [[0]]}
    (table,) = by_suite([summary("part", wins, limit=3), summary("whole", wins, tasks=2)])
    part, whole = latex(table).splitlines()[-4:-2]
    ends = r"{\scriptsize [9.5, 90.5]}"
    assert part.endswith(rf"& 50.0\textsuperscript{{*}} {ends} \\")
    assert whole.endswith(rf"& 50.0 {ends} \\")
    assert "50.0* [9.5, 90.5]" in markdown(table)
    assert "% part, 2 results: 2 of 3 attempts so far." in latex(table).splitlines()


def test_names_do_not_act_on_the_row_before_in_latex():
    (table,) = by_suite([summary(name, {"a": [[1]], "b": [[1]]}) for name in ("*", "[9cm]", "x")])
    rows = latex(table).splitlines()
    assert [row[:7] for row in rows if row.endswith(r"\\")][1:] == ["{*} & 1", "{[}9cm]", "x & 100"]


def test_a_page_has_curves_over_checkpoints():
    wins = {"a": [[1], [0]], "b": [[1], [1]]}
    found = by_suite([summary(f"step-{n}", wins) for n in (10, 20, 30)])
    page = render(found, [], made_at="now")
    assert "Over checkpoints" in page
    assert page.count("<svg") == 2
    one = render(by_suite([summary("step-10", wins)]), [], made_at="now")
    assert "Over checkpoints" not in one
