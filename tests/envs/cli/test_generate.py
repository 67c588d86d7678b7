"""`generate` against a server that fails in every way, killed and started again."""

import json
import re
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest
from click.testing import CliRunner

from envs.design.chat_server import FAULTS, serving
from spade_envs.cli.live import describe
from spade_envs.cli.main import cli
from spade_envs.design.clients import Price, Usage
from spade_envs.design.prompting import example_source
from spade_envs.pipeline import Progress
from spade_envs.store import open_store

BROKEN = (
    "```python\nfrom spade_envs.api import TextEnv\n\n\nclass Broken(TextEnv):\n    x = {}\n```"
)


def answer(request):
    """Return a completion by the request's seed: one in 20 is a sound environment."""
    seed = request["seed"]
    if seed % 20 == 0:
        return f"<think>Which one?</think>\nHere:\n```python\n{example_source('text')}```"
    if seed % 3 == 0:
        return "I would rather not write code today."
    return BROKEN.format(seed)


def fault(number, request):
    """Return what goes wrong with every ninth request: each fault in turn."""
    return FAULTS[number // 9 % len(FAULTS)] if number % 9 == 4 else None


def command(url, store, attempts):
    return [
        *(sys.executable, "-m", "spade_envs", "generate", "--model", url, "--corpus", "pydoc"),
        *("--count", str(attempts), "--max-attempts", str(attempts), "--concurrency", "16"),
        *("--store", str(store), "--json", "--timeout", "3", "--workers", "2"),
    ]


def kill_after(server, arguments, answers):
    """Run a command, and kill it once the server has given so many answers."""
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while len(server.answered) < answers and process.poll() is None:
        time.sleep(0.01)
    assert process.poll() is None, "it ended before it could be killed"
    process.send_signal(signal.SIGKILL)
    process.wait()


def lines_of(store, pattern):
    (path,) = store.glob(f"ledger/{pattern}-*.jsonl")
    found = []
    for line in path.read_text().splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue  # torn by a kill
    return found


def killed_twice(tmp_path, attempts, delay_s=0.02):
    """Check that nothing is lost or counted twice; return the server and what was told."""
    with serving(answer, fault) as server:
        server.delay_s = delay_s
        arguments = command(server.url, tmp_path / "s", attempts)
        kill_after(server, arguments, attempts // 4)
        noted = any((tmp_path / "s").glob("ledger/answers-*.jsonl"))  # a slow run may have none yet
        kept = lines_of(tmp_path / "s", "answers") if noted else []
        first = {(line["attempt"], line["turn"]) for line in kept}
        kill_after(server, arguments, attempts // 2)
        last = subprocess.run(arguments, capture_output=True, text=True)
        asked_once = len(server.asked)
        again = subprocess.run(arguments, capture_output=True, text=True)
        assert len(server.asked) == asked_once  # a finished run asks nobody
    assert last.returncode == again.returncode == 1, last.stderr
    assert last.stdout == again.stdout
    outcomes = [json.loads(line) for line in last.stdout.splitlines()]
    assert len(outcomes) == attempts
    answers, ledger = lines_of(tmp_path / "s", "answers"), lines_of(tmp_path / "s", "generate")
    places = [(line["attempt"], line["turn"]) for line in answers]
    assert sorted(places) == [(attempt, 0) for attempt in range(attempts)]
    assert first <= set(places)
    assert [line["attempt"] for line in ledger] == list(range(attempts))
    made = {line["digest"] for line in ledger if "digest" in line}
    store = open_store(tmp_path / "s")
    assert made == {record.digest for record in store.records()}
    assert [problem for problem in store.verify() if problem.severity == "error"] == []
    told = Counter(request["seed"] for request in server.answered)
    # An answer may come to nothing only if the kill came before it was on disk: 16 in flight.
    assert sum(told.values()) - len(told) <= 2 * 16
    assert len(told) == attempts
    tokens = sum(line["usage"]["completion_tokens"] for line in answers)
    found = re.search(r"(\d+) answers, ([\d,]+) tokens", last.stderr)
    assert int(found[1]) == attempts
    assert int(found[2].replace(",", "")) == tokens + 5 * attempts
    assert (tmp_path / "s" / ".cache").glob("generate-*.html")
    assert set(server.faults) == set(FAULTS)
    assert server.most_in_flight <= 16
    return server, outcomes


def test_killed_and_resumed_twice_loses_and_doubles_nothing(tmp_path):
    _, outcomes = killed_twice(tmp_path, 24)
    assert {line["outcome"] for line in outcomes} >= {"refused"}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_two_hundred_requests_killed_and_resumed_twice(tmp_path):
    server, outcomes = killed_twice(tmp_path, 200, delay_s=0.4)
    assert 12 <= server.most_in_flight <= 16  # those that hang are not counted
    counts = Counter(line.get("stage", "accepted") for line in outcomes)
    assert counts["accepted"] >= 1
    print(dict(counts), dict(server.faults), len(server.asked), len(server.answered))


def test_a_dead_server_is_an_error_of_the_machinery_and_loses_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("tenacity.nap.time.sleep", lambda seconds: None)
    with serving(answer, lambda number, request: "401" if number >= 5 else None) as server:
        arguments = command(server.url, tmp_path / "s", 60)[3:]
        result = CliRunner().invoke(cli, [*arguments, "--retries", "0"])
    assert "AuthenticationError" in str(result.exception)
    assert "5 answers" in result.stderr
    assert len(lines_of(tmp_path / "s", "answers")) == 5


def test_a_budget_ends_a_run_well(tmp_path):
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(f"no {n}") + "\n" for n in range(60)))
    arguments = ["generate", "--model", f"scripted:{tmp_path / 's.jsonl'}", "--json"]
    arguments += ["--store", str(tmp_path / "s"), "--max-tokens", "100"]
    page = tmp_path / "page.html"
    result = CliRunner().invoke(
        cli,
        [*arguments, "--budget", "usd=0.1", "--price", "in=1,out=2", "--html", str(page)],
    )
    assert result.exit_code == 1  # nothing was accepted
    assert "the budget in dollars" in result.stderr
    assert 0 < len(result.stdout.splitlines()) < 60
    assert "the budget in dollars" in page.read_text()
    (listed,) = json.loads(
        CliRunner().invoke(cli, ["runs", "--store", str(tmp_path / "s"), "--json"]).stdout
    )
    assert listed["attempts"] == len(result.stdout.splitlines())
    assert listed["causes"][0]["by"] == "parse"
    detail = CliRunner().invoke(cli, ["runs", listed["run"][:14], "--store", str(tmp_path / "s")])
    assert (detail.exit_code, "--max-tokens" in detail.stdout) == (0, True)
    missing = CliRunner().invoke(cli, ["runs", "other", "--store", str(tmp_path / "s")])
    assert listed["run"] in str(missing.exception)


@pytest.mark.parametrize(
    ("words", "mend"),
    [
        (["--count", "1"], "name a model with --model"),
        (["--model", "nano"], "--count, --max-attempts or --budget"),
        (["--model", "nano", "--count", "1", "--timeout", "5"], "--timeout is about servers"),
        (["--model", "nano", "--count", "1", "--retries", "0"], "--retries is about servers"),
        (["--model", "nano", "--count", "1", "--budget", "days=1"], "tokens=N"),
        (["--model", "nano", "--count", "1", "--budget", "usd=1"], "needs the price"),
        (["--model", "nano", "--count", "1", "--price", "1"], "in=0.15,out=0.6"),
        (["--model", "nano", "--count", "1", "--html", "/nowhere/x.html"], "folder that exists"),
    ],
)
def test_mistakes_name_the_mend(tmp_path, words, mend):
    result = CliRunner().invoke(cli, ["generate", *words, "--store", str(tmp_path / "s")])
    assert result.exit_code != 0
    assert mend in result.output + str(result.exception)


def test_an_interrupt_tells_what_was_done(tmp_path):
    with serving(answer) as server:
        server.delay_s = 0.05
        process = subprocess.Popen(
            command(server.url, tmp_path / "s", 60),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        ledgers = "s/ledger/generate-*"
        while not any(path.stat().st_size for path in tmp_path.glob(ledgers)):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert re.match(r"generate-0-[0-9a-f]{12}: asking m1; spade-envs runs tells", err)
    assert "run the same command again" in err
    assert "interrupted" in err


def test_the_live_line_tells_acceptance_and_what_refuses():
    refused = {"parse": 3, "L3.1": 5, **{f"L1.{n}": 1 for n in range(6)}}
    state = Progress(
        accepted=6, rejected=14, count=9, max_attempts=99, replayed=0, refused=refused,
        usage=Usage(prompt_tokens=10_000, completion_tokens=2000), in_flight=4,
    )  # fmt: skip
    first, second, _ = describe(state, Price(read=1, written=10)).split("\n")
    assert first == "6 of 20 certified (30 %); 12,000 tokens, $0.0300, 4 being answered"
    assert second.startswith("refused by L3.1 5, parse 3, L1.0 1")
    assert second.endswith("others 2")


def test_a_run_that_is_done_says_so_and_asks_for_nothing(tmp_path):
    script = tmp_path / "script.jsonl"
    script.write_text(json.dumps("no code") + "\n")
    words = ["generate", "--model", f"scripted:{script}", "--max-attempts", "1"]
    words += ["--store", str(tmp_path / "new")]
    told = [CliRunner().invoke(cli, words).output for _ in range(2)]
    assert ["all of it was done before" in each for each in told] == [False, True]


def test_misspelt_names_make_no_store(tmp_path):
    for wrong in (["--skills", "maths"], ["--corpus", "nosuch"], ["--budget", "usd=1"]):
        words = ["generate", "--model", "nano", "--count", "1", *wrong]
        done = CliRunner().invoke(cli, [*words, "--store", str(tmp_path / "new")])
        assert done.exception is not None
        assert not (tmp_path / "new").exists()
