"""The page of a run: complete for whatever state a run was left in, and deaf to what it shows."""

import json
import re
import shutil
import subprocess

import pytest
from click.testing import CliRunner

from envs.reports.test_reports_page import ALLOWED, CHROMIUM, QUIET, Reader
from spade_train.cli import main
from spade_train.reports import read, render, write_page
from spade_train.reports.panels import panels
from spade_train.reports.plots import draw
from train.reports.kit_runs import NASTY, event, make_run, write_lines

SVG = {"defs", "use", "pattern", "clippath", "figure", "figcaption"}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("runs") / "run", text=NASTY)


@pytest.fixture(scope="module")
def page(run):
    return render(read(run), made_at="2026-01-02 03:04 UTC")


def test_the_page_shows_every_plot_and_three_environments(page):
    reader = Reader(page)
    assert page.count('<svg class="plot"') == len(panels_of(page)) == 26
    assert reader.tags.count("section") == 3
    for when in ("Early", "Middle", "Late"):
        assert f"{when}: " in reader.text
    assert "VALUE = 2" in reader.text  # the source of the last one
    assert "updates = 40" in reader.text  # the configuration
    assert "Held-out success went from 40.0 % ± 1.4 to 60.0 % ± 1.4" in reader.text
    assert reader.text.count("With the hint: won") == 3
    assert reader.text.count("Without the hint: not won") == 3


def panels_of(page):
    return re.findall(r'<figure id="([a-z-]+)">', page)


def test_nothing_foreign_becomes_markup(page):
    reader = Reader(page)
    assert set(reader.tags) <= ALLOWED | SVG
    assert not [name for name in reader.attributes if name.startswith("on")]
    assert "src" not in reader.attributes
    assert "\u202e" not in page
    assert "\x1b" not in page
    assert "{{ 7*7 }}" in reader.text
    assert "default-src 'none'" in page
    loaded = re.findall(r'(?:href|src)="([^"]*)"', page)
    assert all(link.startswith("#") for link in loaded)
    assert "url(http" not in page


def test_ids_are_unique_and_links_lead_to_them(page):
    ids = re.findall(r' id="([^"]*)"', page)
    assert len(set(ids)) == len(ids)
    links = re.findall(r'href="#([^"]*)"', page) + re.findall(r"url\(#([^)]*)\)", page)
    assert set(links) <= set(ids)


def test_plots_take_their_colours_from_the_page(page):
    plots = page[page.index('<svg class="plot"') : page.rindex("</figure>")]
    assert re.findall(r"#[0-9a-f]{6}\b", plots) == []
    assert {"var(--c0)", "var(--c1)", "var(--soft)"} <= set(re.findall(r"var\(--\w+\)", plots))
    assert "<style" not in plots


def test_the_same_run_gives_the_same_plots(run, page):
    for panel in panels(read(run))[:6:5]:
        assert draw(panel) in page


def test_a_run_that_has_measured_nothing(tmp_path):
    record = read(make_run(tmp_path / "run", updates=1, ended=""))
    empty = make_run(tmp_path / "empty", updates=1)
    for name in ("metrics.jsonl", "events.jsonl"):
        (empty / name).unlink()
    shutil.rmtree(empty / "envstore")
    page = render(read(empty), made_at="now")
    assert page.count('<p class="missing">') == len(panels(record))
    assert "The run has measured nothing yet." in page
    assert "No environment has been accepted" in page
    assert "no update is finished yet" in page
    for panel in panels(record):  # one update is drawn too
        assert panel.curves[0].updates.tolist() == [0]
    assert '<svg class="plot"' in draw(panels(record)[5])


def test_a_fixed_pool_says_why_there_is_no_regret(tmp_path):
    run = make_run(tmp_path / "run", updates=4, overlays=["fixed-pool"])
    write_lines(run / "metrics.jsonl", [{"update": 0, "agent/success": 0.5, "train/loss": 0.1}])
    write_lines(run / "events.jsonl", [event("stopped", 0, why="budget: agent_episodes")])
    page = Reader(render(read(run), made_at="now")).text
    assert "No hints are played in this run." in page
    assert "Environments come from a fixed pool." in page
    assert "1 of 4 updates; ended: budget: agent_episodes" in page


def test_numbers_that_are_none_leave_gaps(tmp_path):
    run = make_run(tmp_path / "run", updates=3)
    lines = [{"update": u, "agent/success": None, "agent/regret": "x"} for u in range(3)]
    lines[1]["agent/success"] = 0.5
    write_lines(run / "metrics.jsonl", lines)
    (run / "events.jsonl").write_text("")
    drawn = {panel.name: panel for panel in panels(read(run))}
    assert drawn["success"].curves[0].updates.tolist() == [1.0]
    assert not drawn["regret"]
    assert draw(drawn["regret"]) == ""
    assert '<svg class="plot"' in draw(drawn["success"])


def test_the_command_writes_the_page_beside_the_run(run, tmp_path):
    done = CliRunner().invoke(main, ["report", str(run)])
    assert (done.exit_code, done.output.strip()) == (0, str(run / "report.html"))
    assert (run / "report.html").read_text().count("<figure") == 26
    done = CliRunner().invoke(main, ["report", str(run), "--json"])
    assert json.loads(done.stdout)["figures"]["updates"] == 40
    done = CliRunner().invoke(main, ["report", str(tmp_path)])
    assert done.exit_code == 2
    assert "holds no run" in done.stderr


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_a_browser_draws_it_without_errors(page, tmp_path):
    file = tmp_path / "page.html"
    script = "<script>document.title = 'ran'</script></body>"
    write_page(file, page.replace("</body>", script))
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    command = [CHROMIUM, *QUIET, profile, "--enable-logging=stderr", "--dump-dom", file.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    assert done.stdout.count('<svg class="plot"') == 26
    assert "<title>spade-train: quickstart</title>" in done.stdout
    said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert len(said) == 1  # the script above is refused; nothing else is
    assert "Content Security Policy" in said[0]
