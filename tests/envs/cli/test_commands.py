"""Every command, from the outside: what it prints, and its exit code."""

import json
import signal
import subprocess
import sys
import time

import pytest

from envs.cli.kit import run

SUMS = '''
from spade_envs.api import TextEnv, answer_of


class Sums(TextEnv):
    """Add two numbers."""

    levels = 2
    max_turns = 2

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        scale = 100 * 10**self.level
        self.a, self.b = self.draw_int(10, scale), self.draw_int(10, scale)
        return f"What is {self.a} + {self.b}? Give the number in \\\\boxed{{}}.", {}

    def step(self, action):
        if answer_of(action) == str(self.a + self.b):
            return self.win("Right.")
        return self.go_on("No.")

    def hint(self):
        return f"Start with {self.a} + {self.b // 10 * 10}."

    def solution(self):
        return [f"\\\\boxed{{{self.a + self.b}}}"]
'''


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    (folder / "sums.py").write_text(SUMS)
    (folder / "broken.py").write_text(
        SUMS.replace('self.win("Right.")', "('x', 0.0, True, False, {})")
    )
    completions = [f"```python\n{SUMS}\n```", "no code here", f"```python\n{SUMS} # again\n```"]
    (folder / "script.jsonl").write_text("".join(json.dumps(text) + "\n" for text in completions))
    code, out, err = run("add", "sums.py", "--name", "sums", "--store", "store", cwd=folder)
    assert code == 0, err
    assert out.startswith("spade/sums-v0  sha256:")
    return folder


def test_check_accepts_and_refuses_with_the_exit_code(place):
    code, out, _ = run("check", "sums.py", cwd=place)
    assert code == 0
    assert "sums.py: accepted" in out
    code, out, _ = run("check", "broken.py", "--json", cwd=place)
    (entry,) = json.loads(out)
    assert (code, entry["accepted"]) == (1, False)
    failed = [r["gate"] for r in entry["report"]["results"] if r["outcome"] == "fail"]
    assert failed[0] == "L3.1"


def test_a_quick_look_passes_without_certifying(place):
    code, out, _ = run("check", "sums.py", "--quick", cwd=place)
    assert code == 0
    assert "sums.py: passes" in out
    (entry,) = json.loads(run("check", "sums.py", "--quick", "--json", cwd=place)[1])
    assert (entry["accepted"], entry["verdict"]) == (False, "passes")
    assert run("check", "broken.py", "--quick", cwd=place)[0] == 1


def test_a_refused_file_is_not_added(place):
    code, out, _ = run("add", "broken.py", "--store", "store", cwd=place)
    assert code == 1
    assert "L3.1" in out
    assert len(json.loads(run("list", "--store", "store", "--json", cwd=place)[1])) == 1


def test_list_and_show(place):
    code, out, _ = run("list", "--store", "store", "--json", cwd=place)
    (entry,) = json.loads(out)
    assert (code, entry["id"], entry["levels"]) == (0, "spade/sums-v0", 2)
    assert (
        run("list", "--skill", "optimization", "--store", "store", "--json", cwd=place)[1] == "[]\n"
    )
    code, out, _ = run("show", "sums", "--store", "store", "--json", cwd=place)
    document = json.loads(out)
    assert document["report"]["source_sha256"] == document["manifest"]["files"]["env.py"]["sha256"]
    assert run("show", "sums", "--source", "--store", "store", cwd=place)[1] == SUMS
    code, out, _ = run("show", "sums", "--store", "store", cwd=place)
    assert "written by hand" in out
    assert "L3.1" in out


def test_an_interrupt_ends_a_check_that_is_under_way(tmp_path):
    slow = SUMS.replace(
        "scale = ", "for _ in range(3_000_000):\n            pass\n        scale = "
    )
    (tmp_path / "slow.py").write_text("import math\n" + slow)
    start = "import sys, spade_entry; sys.argv[0] = 'spade-envs'; print('up', flush=True); "
    command = [sys.executable, "-c", f"{start}spade_entry.envs()", "check", tmp_path / "slow.py"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, start_new_session=True) as started:
        assert started.stdout.readline() == b"up\n"  # the interpreter itself has begun
        time.sleep(1.5)
        started.send_signal(signal.SIGINT)
        _, err = started.communicate(timeout=20)
    assert started.returncode == 130
    assert b"Traceback" not in err


def test_a_machine_that_fails_is_one_line(place, tmp_path):
    (tmp_path / "file").write_text("")
    code, _, err = run("add", "sums.py", "--store", tmp_path / "file" / "store", cwd=place)
    assert code in (2, 3)
    assert err.startswith("error: ")


def test_play_refuses_a_seed_out_of_range(place):
    code, _, err = run("play", "sums", "--store", "store", "--seed", 2**63, cwd=place)
    assert code == 2
    assert "9223372036854775807" in err


def test_play(place):
    code, out, err = run("play", "sums", "--solve", "--store", "store", "--seed", 3, cwd=place)
    assert code == 0
    assert "success: return 1 in 1 turn\n" in out
    _, out, _ = run("play", "sums", "--store", "store", "--json", cwd=place, text="1\n2\n")
    episode = json.loads(out)
    assert [turn["action"] for turn in episode["turns"]] == ["1", "2"]
    assert (episode["env_id"], episode["truncated"]) == ("spade/sums-v0", True)
    code, out, err = run("play", "sums", "--hint", "--store", "store", cwd=place)
    assert code == 0
    assert "Start with" in err


def test_generate_resumes_and_counts(place):
    arguments = (
        "generate",
        "--designer",
        "scripted:script.jsonl",
        "--count",
        2,
        "--max-attempts",
        3,
    )
    first = run(*arguments, "--store", "made", "--json", cwd=place)
    second = run(*arguments, "--store", "made", "--json", cwd=place)
    lines = [json.loads(line) for line in first[1].splitlines()]
    assert [line["outcome"] for line in lines] == ["accepted", "refused", "refused"]
    assert [line.get("stage") for line in lines] == [None, "parse", "novelty"]
    assert first[0] == second[0] == 1
    assert [json.loads(line)["outcome"] for line in second[1].splitlines()] == [
        line["outcome"] for line in lines
    ]


def test_verify_withdraw_and_reindex(place):
    run("add", "sums.py", "--name", "other", "--store", "second", cwd=place)
    assert run("verify", "--store", "second", cwd=place)[0] == 0
    code, out, _ = run("withdraw", "other", "--reason", "too easy", "--store", "second", cwd=place)
    assert code == 0
    assert "too easy" in out
    code, _, err = run("play", "other", "--store", "second", cwd=place)
    assert "too easy" in err
    assert code != 0
    assert run("reindex", "--store", "second", cwd=place)[1].startswith("1 version indexed")
    source = place / "second" / "envs" / "other" / "v0" / "env.py"
    source.write_text(source.read_text() + "# changed\n")
    code, out, _ = run("verify", "--store", "second", "--json", cwd=place)
    assert code == 1
    assert [problem["kind"] for problem in json.loads(out)] == ["source"]


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        (("check", "missing.py"), 2, "missing.py is not a file"),
        (("show", "smus", "--store", "store"), 2, "did you mean 'sums'"),
        (("list", "--store", "nowhere"), 2, "not an envstore"),
        (("generate", "--designer", "who", "--count", "1", "--store", "x"), 2, "no model 'who'"),
        (("play", "sums", "--level", "7", "--store", "store"), 2, "[0, 2)"),
        (("frobnicate",), 2, "No such command"),
    ],
)
def test_mistakes_are_one_line_that_names_the_mend(place, arguments, code, part):
    status, _, err = run(*arguments, cwd=place)
    assert status == code
    assert part in err
    assert "Traceback" not in err


def test_doctor_knows_the_layers():
    code, out, _ = run("doctor", "--json")
    document = json.loads(out)
    assert code == 0
    assert {layer["name"] for layer in document["layers"]} >= {"seccomp", "rlimits", "landlock"}
