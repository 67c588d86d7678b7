"""The page: complete, self-contained, navigable, and deaf to what it shows."""

import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest

from envs.reports.kit_reports import NASTY, accepted, missing, refused, report, source
from spade_envs.gates import GATES
from spade_envs.gates.check import LEFT_OUT, OUT_OF_TIME, STALLED
from spade_envs.interop import Checked, Target
from spade_envs.reports.entry import Counts, Entry
from spade_envs.reports.figures import bar, levels_chart, percent, rate_of
from spade_envs.reports.page import render
from spade_envs.reports.sections import section

VOID = {"meta", "path", "circle", "rect", "br"}
CONTAINERS = """html head title style body a header h1 h2 h3 p ul ol li main div table thead tbody
tr th td span section nav dl dt dd details summary pre code svg g text"""
ALLOWED = VOID | set(CONTAINERS.split())


class Reader(HTMLParser):
    """Collects tags, attributes, ids and links, and checks that tags are closed in order."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.tags, self.ids, self.links, self.open = [], [], [], []
        self.text, self.attributes = "", set()
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        found = dict(attrs)
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found["href"]] if "href" in found else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def page():
    entries = [accepted(), refused(text="at line 2: no"), refused(NASTY, NASTY), missing(NASTY)]
    return render(entries, made_at="2026-01-02 03:04 UTC")


def test_the_page_says_what_was_found(page):
    reader = Reader(page)
    for text in ("good.py", "bad.py", "1 accepted", "2 refused", "1 not checked", "at line 2: no"):
        assert text in reader.text
    for gate in GATES:
        assert gate.title in reader.text
    assert reader.tags.count("section") == 4
    assert "level" in reader.text
    assert "50 %, 95 % interval 9 % to 91 %" in page  # the rate of one in two, as a bar


def test_nothing_foreign_becomes_markup(page):
    reader = Reader(page)
    assert set(reader.tags) <= ALLOWED
    assert not [name for name in reader.attributes if name.startswith("on")]
    assert not reader.attributes & {"src", "style"}
    assert "{{ 7*7 }}" in reader.text  # the template engine did not evaluate it
    assert "\u202e" not in page
    assert "\x1b" not in page
    assert "\\u202e" in reader.text
    assert "&lt;script&gt;alert(1)" in page


def test_the_page_asks_for_nothing_and_its_policy_forbids_it(page):
    assert not re.findall(r"(?:src|href)=[\"'](?!#)|@import|url\(", page)
    assert "default-src 'none'" in page


def test_every_link_leads_somewhere_and_every_id_is_one(page):
    reader = Reader(page)
    assert len(set(reader.ids)) == len(reader.ids)
    assert {link.removeprefix("#") for link in reader.links} <= set(reader.ids)
    assert "#t2-L2" in reader.links  # the line that the finding names
    assert "#t2-L3.3" not in reader.ids
    assert "#t2-L3.3" in reader.links


def test_lines_that_findings_name_are_marked():
    found = section(1, refused(text="at line 2: no"))
    assert found.named == {1, 2, 3}  # the remark, the message, the traceback
    assert section(1, accepted()).named == frozenset()


def test_gates_that_did_not_run_are_shown_as_such(page):
    empty = section(1, missing())
    assert (empty.families, empty.entry.counts) == ((), Counts(0, 0, 0))
    assert section(1, refused()).entry.counts == Counts(len(GATES) - 2, len(GATES), 0)
    assert [family.worst for family in section(1, refused()).families][2:4] == ["warn", "fail"]


@pytest.mark.parametrize(
    ("message", "outcome"),
    [(LEFT_OUT, "none"), (OUT_OF_TIME, "cut"), (f"{STALLED} L1.7", "cut"), ("no tools", "skip")],
)
def test_why_a_gate_was_skipped(message, outcome):
    made = report({"L3.13": "skip"}, messages={"L3.13": message})
    entry = Entry(checked=Checked(target=Target(label="x", source=source()), report=made))
    (row,) = [row for row in section(1, entry).rows if row.gate == "L3.13"]
    assert row.outcome == outcome


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"mean": 0.5, "wilson_95": [0.2, 0.8]}, (0.5, 0.2, 0.8)),
        ({"mean": 1, "wilson_95": [0.5, 1.0]}, (1.0, 0.5, 1.0)),
        ({"mean": 0.5}, (0.5, 0.5, 0.5)),
        ({"mean": "<b>", "wilson_95": [0, 1]}, None),
        ({"mean": 0.5, "wilson_95": ["x", 1]}, None),
        ({"mean": float("nan"), "wilson_95": [0, 1]}, None),
        ({"mean": 7, "wilson_95": [0, 1]}, None),
        ({"mean": True}, None),
        ("0.5", None),
        ({}, None),
    ],
)
def test_only_numbers_are_drawn(value, expected):
    assert rate_of(value) == expected


def test_figures():
    assert [percent(x) for x in (0.004, 0.2, 1.0, 0.0)] == ["0.4 %", "20 %", "100 %", "0 %"]
    assert 'cx="100.0"' in bar((0.5, 0.2, 0.8))
    assert levels_chart([]) == ""
    drawn = levels_chart(section(1, accepted()).series)
    assert drawn.count("<g class=") == 5
    assert "reference wins, level 1: 100 %" in drawn


BROWSERS = map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))
CHROMIUM = next(filter(None, BROWSERS), None)
QUIET = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
]


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_a_browser_runs_nothing_in_it(page, tmp_path):
    file = tmp_path / "page.html"
    script = "<script>document.title = 'ran'</script></body>"
    file.write_text(page.replace("</body>", script), "utf-8")
    command = [CHROMIUM, *QUIET, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
    command.append(file.as_uri())
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    assert done.stdout.count('<section class="env"') == 4
    assert "<title>spade-envs check: 4 targets</title>" in done.stdout
    assert "<img" not in done.stdout
