"""Checking several things at once: nothing is lost, whatever one of them is."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from envs.cli.kit import run
from envs.cli.test_commands import SUMS
from spade_envs.cli.output import counted

WRONG = SUMS.replace('self.win("Right.")', "('x', 0.0, True, False, {})")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    (folder / "sums.py").write_text(SUMS)
    (folder / "odd.py").write_text("import os\n\n\nclass Odd(:\n")
    (folder / "latin.py").write_bytes(b"# \xff\n")
    (folder / "worse.py").write_text(
        SUMS.replace("scale = ", "raise ValueError('no')\n        scale = ")
    )
    said = {
        "kind": "unsolvable",
        "line": 1,
        "quote": "levels = 2",
        "explanation": "Level 2 \x1b[2J is missing.",
    }
    lines = [json.dumps({"remarks": [said]}), "no idea"]
    (folder / "auditor.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


@pytest.fixture(scope="module")
def mixed(place):
    """One run over good, bad, unreadable and missing targets, with an auditor and a page."""
    arguments = ("sums.py", "gone.py", "odd.py", "latin.py", "spade/nothing-v0", "worse.py")
    more = ("--quick", "--json", "--auditor", "scripted:auditor.jsonl", "--html", "page.html")
    code, out, err = run("check", *arguments, *more, cwd=place)
    return code, json.loads(out), err


def test_what_is_missing_costs_nobody_else_a_verdict(mixed):
    code, rows, err = mixed
    assert code == 2
    assert [row["target"] for row in rows] == [
        "sums.py",
        "gone.py",
        "odd.py",
        "latin.py",
        "spade/nothing-v0",
        "worse.py",
    ]
    words = ["passes", "not checked", "refused", "not checked", "not checked", "refused"]
    assert [row["verdict"] for row in rows] == words
    assert "gone.py is not a file" in rows[1]["error"]
    assert "error: gone.py is not a file" in err
    assert "UTF-8" in rows[3]["error"]


def test_every_failure_has_its_evidence(place):
    code, out, _ = run("check", "worse.py", "--quick", cwd=place)
    assert code == 1
    failed = re.findall(r"^ *(L\d\.\d+) .* fail ", out, flags=re.M)
    assert {"L1.2", "L1.3"} <= set(failed)
    for gate in ("L1.2", "L1.3"):
        assert f"evidence of {gate}" in out
    assert re.search(r"^\d+ gates left out after that", out, flags=re.M)


def test_an_audit_stands_beside_the_report(mixed):
    _, rows, err = mixed
    audits = [row["audit"] for row in rows]
    assert [a and a["status"] for a in audits] == [
        "audited",
        None,
        "not audited",
        None,
        None,
        "not audited",
    ]
    assert audits[0]["remarks"][0]["line"] == SUMS.split("\n").index("    levels = 2") + 1
    assert "no completion" in audits[5]["reason"]
    assert "asking scripted:auditor.jsonl about 3 sources" in err


def test_the_page_shows_the_same_run(mixed, place):
    page = (place / "page.html").read_text("utf-8")
    assert page.count('<section class="env"') == 6
    assert "gone.py is not a file" in page
    assert "\x1b" not in page


def test_remarks_reach_the_terminal_without_control_characters(place):
    arguments = ("--quick", "--auditor", "scripted:auditor.jsonl")
    code, out, _ = run("check", "sums.py", *arguments, cwd=place)
    assert code == 0
    assert "sums.py: audited by scripted:auditor.jsonl: 1 remark (advisory)" in out
    assert "Level 2 \\x1b[2J is missing." in out


class Auditor(BaseHTTPRequestHandler):
    """A server that remarks on the line that it is told to."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(asked)
        said = {"kind": "unreachable", "line": 1, "quote": "max_turns = 2", "explanation": "Hm."}
        message = {"role": "assistant", "content": json.dumps({"remarks": [said]})}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        whole = {"id": "1", "object": "chat.completion", "created": 1, "model": asked["model"]}
        data = json.dumps({**whole, "choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def test_an_auditor_may_be_any_chat_server(place):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Auditor)
    server.asked = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    arguments = ("--quick", "--auditor", "some-model", "--auditor-url", url)
    code, out, _ = run("check", "sums.py", *arguments, cwd=place)
    server.shutdown()
    server.server_close()
    assert code == 0
    assert "sums.py: audited by some-model: 1 remark (advisory)" in out
    (asked,) = server.asked
    assert (asked["model"], asked["temperature"]) == ("some-model", 0.0)
    assert "What is {self.a}" in asked["messages"][1]["content"]
    gone = run("check", "sums.py", *arguments, cwd=place)  # nobody listens any more
    assert gone[0] == 0
    assert "sums.py: not audited by some-model: http://127.0.0.1" in gone[1]


def test_an_interrupt_keeps_what_was_done(place, tmp_path):
    slow = SUMS.replace(
        "scale = ", "for _ in range(2_000_000):\n            pass\n        scale = "
    )
    (tmp_path / "a.py").write_text((place / "odd.py").read_text())
    for name in "bcd":
        (tmp_path / f"{name}.py").write_text(slow + f"# {name}\n")
    command = [sys.executable, "-m", "spade_envs", "check", str(tmp_path), "--json", "--jobs", "1"]
    command += ["--html", str(tmp_path / "page.html")]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    for wait_s in (5, 15, 40):  # on a busy machine the first target takes its time
        with subprocess.Popen(command, **pipes, start_new_session=True) as started:
            time.sleep(wait_s)
            os.kill(started.pid, signal.SIGINT)
            out, err = started.communicate(timeout=60)
        assert started.returncode == 130, err
        rows = json.loads(out)
        if rows[0]["verdict"] != "not checked":
            break
    assert rows[0]["verdict"] == "refused"
    assert rows[-1]["error"] == "interrupted before it was checked"
    assert "interrupted before" in (tmp_path / "page.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("check", "sums.py", "--deadline", "nan"), "nan is not a finite number"),
        (("check", "sums.py", "--deadline", "inf"), "inf is not a finite number"),
        (("check", "sums.py", "--deadline", "0"), "0"),
        (("check", "sums.py", "--html", "no/such/folder/x.html"), "folder that exists"),
        (("check", "sums.py", "--html", "."), "folder that exists"),
        (("check", "sums.py", "--auditor-url", "http://localhost:1/v1"), "--auditor"),
        (("check", "sums.py", "--quick", "--known", "."), "leave out --quick"),
        (("check", "sums.py", "--against", "gone.txt"), "cannot read"),
        (("check", "sums.py", "--known", "nowhere"), "not an envstore"),
        (("play", "gone.py"), "gone.py is not a file"),
        (("show", "gone.py"), "gone.py is not a file"),
    ],
)
def test_mistakes_are_found_before_the_work(place, arguments, part):
    code, out, err = run(*arguments, cwd=place)
    assert (code, out) == (2, "")
    assert part in err
    assert "Traceback" not in err


def test_a_file_can_be_shown_and_played(place):
    code, out, _ = run("show", "sums.py", "--json", cwd=place)
    shown = json.loads(out)
    assert (code, shown["interface"]["entry"], shown["interface"]["levels"]) == (0, "Sums", 2)
    assert run("show", "sums.py", "--source", cwd=place)[1] == SUMS
    assert "spade-envs check sums.py" in run("show", "sums.py", cwd=place)[1]
    code, out, _ = run("play", "sums.py", "--solve", "--level", 1, "--json", cwd=place)
    episode = json.loads(out)
    assert (code, episode["env_id"], episode["success"]) == (0, "sums.py", True)
    assert run("play", "odd.py", cwd=place)[0] == 1


def test_withdrawing_twice_keeps_the_first_reason(place):
    assert run("add", "sums.py", "--name", "sums", "--store", "store", cwd=place)[0] == 0
    for reason in ("too easy", "another"):
        for ref in ("spade/sums-v0", "sums"):
            arguments = ("withdraw", ref, "--reason", reason, "--store", "store")
            code, out, err = run(*arguments, cwd=place)
            assert (code, "too easy" in out) == (0, True), err
    assert "1 environment\n" in run("list", "--withdrawn", "--store", "store", cwd=place)[2]


def test_refused_designs_are_listed(place):
    texts = [f"```python\n{WRONG}\n```", "no code"]
    script = "".join(json.dumps(text) + "\n" for text in texts)
    (place / "script.jsonl").write_text(script)
    assert run("rejected", "--store", "made", cwd=place)[0] == 2
    arguments = ("--designer", "scripted:script.jsonl", "--count", 1, "--store", "made")
    assert run("generate", *arguments, cwd=place)[0] == 1
    code, out, _ = run("rejected", "--store", "made", "--json", cwd=place)
    rows = json.loads(out)
    assert code == 0
    assert [(row["stage"], row["gate"], row["entry"]) for row in rows] == [
        ("gates", "L3.1", "Sums"),
        ("parse", None, None),
    ]
    assert rows[0]["source"].endswith("env.py")
    (place / "made" / "rejected" / rows[0]["key"] / "rejection.json").write_text("{")
    code, out, err = run("rejected", "--store", "made", "--gate", "L3.1", cwd=place)
    assert (code, "its note cannot be read" in out) == (0, True)
    assert "1 refused design: 1 by L3.1" in err


@pytest.mark.parametrize("command", ["list", "check", "verify"])
def test_tables_fit_80_columns(place, command):
    arguments = {"list": ("list",), "verify": ("verify",), "check": ("check", *["worse.py"] * 6)}
    words = arguments[command] + (("--quick",) if command == "check" else ())
    environ = {**os.environ, "COLUMNS": "80"}
    line = [sys.executable, "-m", "spade_envs", *words]
    done = subprocess.run(line, capture_output=True, text=True, cwd=place, env=environ, check=False)
    assert max(map(len, done.stdout.splitlines()), default=0) <= 80
    assert done.stdout or command == "verify"


def test_one_is_singular():
    assert [counted(n, "turn") for n in (0, 1, 2)] == ["0 turns", "1 turn", "2 turns"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("sums.py", "--quick", "--deep"), "exclude each other"),
        (("sums.py", "--auditor", ""), "--auditor needs"),
        (("rlve:/nowhere",), "names no problem"),
        (("rlve:/nowhere#Sorting",), "no RLVE checkout"),
    ],
)
def test_what_cannot_be_meant_is_wrong_usage(place, arguments, said):
    code, _, err = run("check", *arguments, cwd=place)
    assert (code, said in err) == (2, True)
