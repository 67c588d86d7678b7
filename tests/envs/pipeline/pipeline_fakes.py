"""A designer and a checker that are pure functions of what they are given."""

import os
import signal
import sys
from functools import cache

from spade_envs.corpus import open_corpus
from spade_envs.design.clients import SerialPolicy
from spade_envs.pipeline import generate, ledger
from spade_envs.store import open_store
from spade_envs.types import Completion, GateResult, Interface, Record, Report

CODE = """from spade_envs.api import TextEnv


class Guess{word}(TextEnv):
    number = {number}
"""


class Writer(SerialPolicy):
    """Writes one of 24 programs, prose, or a program that the checker refuses, by its seed."""

    name = "writer"

    def __init__(self):
        self.requests = []

    def complete(self, messages, *, seed, max_tokens, temperature):
        self.requests.append((messages, seed))
        number = seed % 24
        text = "```python\n" + CODE.format(word="ABC"[seed % 3], number=number) + "```"
        if seed % 7 == 0:
            text = "I would rather not."
        if messages[-1].content.startswith("That file was refused"):
            text = text.replace("number =", "mended =")
        return Completion(text=text, model="writer-1", finish_reason="stop")


def checker(source):
    """Refuse programs whose number divides by five, unless mended."""
    number = int(source.code.split("= ")[1])
    bad = number % 5 == 0 and "mended" not in source.code
    entry = source.code.split("class ")[1].split("(")[0]
    return Report(
        source_sha256=source.sha256,
        gates_version="1",
        interface=Interface(entry=entry, kind="text", has_hint=True, has_solution=True),
        results=(
            GateResult(
                gate="L9.9",
                title="not by five",
                outcome="fail" if bad else "pass",
                message=f"line 5: {number} divides by five",
            ),
        ),
    )


@cache
def pydoc():
    return open_corpus("pydoc")


def run(store, *, designer=None, count=8, **settings):
    settings = {"seed": 2, "block": 4, "checker": checker, "max_attempts": 30, **settings}
    return list(generate(designer or Writer(), pydoc(), store, count=count, **settings))


def brief_of(outcomes):
    return [
        outcome.digest if isinstance(outcome, Record) else (outcome.stage, outcome.reason)
        for outcome in outcomes
    ]


def main(folder, kill_at, before):
    """Generate, and die at the `kill_at`-th line of the ledger, before or after it is written."""
    append, lines = ledger.Ledger.append, [0]

    def deadly(self, line):
        lines[0] += 1
        die = lines[0] == int(kill_at)
        if die and before == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        append(self, line)
        if die:
            os.kill(os.getpid(), signal.SIGKILL)

    ledger.Ledger.append = deadly
    run(open_store(folder, create=True))


if __name__ == "__main__":
    main(*sys.argv[1:])
