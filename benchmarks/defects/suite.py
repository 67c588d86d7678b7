"""Running the suite: plant, check, and keep every verdict in a file, so that a run can go on."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any

import spade_envs
from benchmarks.defects import planting
from benchmarks.defects.baselines import judge
from benchmarks.defects.bench import NotLoadedError, Side
from benchmarks.defects.operators import BY_ID
from benchmarks.defects.operators.originality import EVALUATION
from benchmarks.defects.planting import Planted, sound
from benchmarks.defects.rewrites import REWRITES
from spade_envs.gates import GATES_VERSION, check
from spade_envs.gates.context import Fingerprint
from spade_envs.gates.originality import fingerprint
from spade_envs.gates.subject import Subject
from spade_envs.sandbox import default_sandbox
from spade_envs.types import EnvSource, Limits, Report

LIMITS = Limits(load_timeout_s=10.0, reset_timeout_s=5.0, step_timeout_s=1.5)
ORIGINAL = "original"
"""Name of the rewrite that changes nothing."""


@functools.cache
def judges() -> str:
    """Return a fingerprint of the code that judges, which changes more often than its version."""
    digest = hashlib.sha256()
    for room in ("gates", "api", "sandbox"):
        for path in sorted((Path(spade_envs.__file__).parent / room).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


@dataclass(frozen=True)
class Verdict:
    """What the gates said about one source."""

    key: str
    failed: tuple[str, ...]
    """Gates that failed."""
    warned: tuple[str, ...]
    message: str
    """Message of the first failure."""
    seconds: float
    accepted: bool


class Ledger:
    """One JSON object a line, each under a key; the last one of a key counts."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.rows: dict[str, dict[str, Any]] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    row = json.loads(line)
                except ValueError:
                    continue  # the last line of a run that was stopped
                self.rows[row["key"]] = row

    def add(self, key: str, row: Mapping[str, Any]) -> None:
        self.rows[key] = {**row, "key": key}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(self.rows[key], ensure_ascii=True) + "\n")


Progress = Callable[[str, int, int], None]


def run_parallel(
    work: Callable[[Any], Any], tasks: Iterable[Any], jobs: int, label: str, progress: Progress
) -> Iterator[tuple[Any, Any]]:
    """Yield each task with what `work` makes of it, as they are done."""
    tasks = list(tasks)
    if not tasks:
        return
    context = get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_end_with_parent) as pool:
        futures = {pool.submit(work, task): task for task in tasks}
        for count, future in enumerate(as_completed(futures), 1):
            progress(label, count, len(tasks))
            yield futures[future], future.result()


def _end_with_parent() -> None:
    """Let a process of the pool end when the run is killed."""

    def wait() -> None:
        parent = parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def plant_all(
    operators: Iterable[str], wanted: int, folder: Path, jobs: int, progress: Progress
) -> list[Planted]:
    """Plant the operators, or take what an earlier run has planted."""
    ledger = Ledger(folder / "planted.jsonl")
    tasks = [(operator, wanted) for operator in operators]
    left = [task for task in tasks if _key(task) not in ledger.rows]
    for task, rows in run_parallel(_plant, left, jobs, "planting", progress):
        ledger.add(_key(task), {"planted": rows})
    found = [Planted(**row) for task in tasks for row in ledger.rows[_key(task)]["planted"]]
    old = [one for one in found if one.witness and not planting.is_current(one)]
    anew = dict(run_parallel(planting.plant_again, old, jobs, "planting again", progress))
    if anew:
        for task in tasks:
            rows = [Planted(**row) for row in ledger.rows[_key(task)]["planted"]]
            if any(one in anew for one in rows):
                ledger.add(_key(task), {"planted": [asdict(anew.get(one, one)) for one in rows]})
    return [anew.get(one, one) for one in found]


def _key(task: tuple[str, int]) -> str:
    return f"{task[0]}/{task[1]}"


def _plant(task: tuple[str, int]) -> list[dict[str, Any]]:
    return [asdict(one) for one in planting.plant(*task)]


def judge_all(
    planted: Iterable[Planted],
    folder: Path,
    jobs: int,
    progress: Progress,
    *,
    again: Callable[[Mapping[str, Any]], bool] = lambda row: False,
) -> dict[str, Verdict]:
    """Return the verdict on every mutant by its sha256; `again` says which kept ones to repeat."""
    ledger = Ledger(folder / "verdicts.jsonl")
    found = {one.sha256: one for one in planted if one.witness}
    keys = {f"{sha}/{GATES_VERSION}": one for sha, one in found.items()}
    left = [one for key, one in keys.items() if key not in ledger.rows or again(ledger.rows[key])]
    left.sort(key=lambda one: one.sha256)  # so that a run that is stopped has seen a bit of all
    for one, row in run_parallel(_judge, left, jobs, "judging", progress):
        ledger.add(f"{one.sha256}/{GATES_VERSION}", row)
    return {one.sha256: _verdict(ledger.rows[key]) for key, one in keys.items()}


def _verdict(row: Mapping[str, Any]) -> Verdict:
    return Verdict(**{name: row[name] for name in Verdict.__dataclass_fields__})


def _judge(one: Planted) -> dict[str, Any]:
    operator = BY_ID[one.operator]
    context: dict[str, Any] = {}
    if operator.context == "known":
        context["known"] = (_fingerprint(one.environment),)
    elif operator.context == "evaluation":
        context["evaluation"] = (EVALUATION,)
    return _checked(planting.code_of(one), **context)


@functools.cache
def _fingerprint(environment: str) -> Fingerprint:
    source = EnvSource(code=sound()[environment].code, origin=environment)
    subject = Subject(source, default_sandbox(), planting.elsewhere, LIMITS)
    try:
        return fingerprint(source, subject, name=environment)
    finally:
        subject.close()


def _checked(code: str, **context: Any) -> dict[str, Any]:
    begun = time.process_time(), time.perf_counter()
    report = check(EnvSource(code=code), limits=LIMITS, **context)
    row = _row(report)
    return {**row, "seconds": round(time.perf_counter() - begun[1], 3)}


def _row(report: Report) -> dict[str, Any]:
    failures = report.failures
    return {
        "failed": [result.gate for result in failures],
        "warned": [result.gate for result in report.results if result.outcome == "warn"],
        "message": failures[0].message[:300] if failures else "",
        "accepted": report.accepted,
        "judges": judges(),
    }


def variants(every: bool) -> list[tuple[str, str]]:
    """Return pairs of rewrite and environment: four rewrites each, or all, and the originals."""
    names = list(REWRITES)
    pairs = []
    for place, name in enumerate(sound()):
        chosen = names if every else [names[(place * 4 + k) % len(names)] for k in range(4)]
        pairs += [(rewrite, name) for rewrite in (ORIGINAL, *chosen)]
    return pairs


def judge_variants(
    pairs: Iterable[tuple[str, str]],
    folder: Path,
    jobs: int,
    progress: Progress,
    *,
    again: Callable[[Mapping[str, Any]], bool] = lambda row: False,
) -> dict[tuple[str, str], dict[str, Any]]:
    """Return what was said about each rewrite that still plays like its original."""
    ledger = Ledger(folder / "variants.jsonl")
    keys = {f"{rewrite}/{name}/{GATES_VERSION}": (rewrite, name) for rewrite, name in pairs}
    left = {
        key: pair for key, pair in keys.items() if key not in ledger.rows or again(ledger.rows[key])
    }
    backward = {pair: key for key, pair in left.items()}
    done = run_parallel(_judge_variant, left.values(), jobs, "sound variants", progress)
    for pair, row in done:
        ledger.add(backward[pair], row)
    return {pair: ledger.rows[key] for key, pair in keys.items()}


def _judge_variant(pair: tuple[str, str]) -> dict[str, Any]:
    rewrite, name = pair
    code = sound()[name].code
    changed = code if rewrite == ORIGINAL else REWRITES[rewrite](code)
    if changed is None:
        return {"dropped": "does not apply"}
    try:
        side = Side(default_sandbox(), changed)
    except NotLoadedError as error:
        return {"dropped": f"does not load: {error}"}
    try:
        if not plays_right(side):
            return {"dropped": "the rewrite changed what it does"}
        said = judge(side)
    finally:
        side.close()
    known: list[Fingerprint] = []
    if rewrite == ORIGINAL:
        known = [_fingerprint(other) for other in sound() if other != name]
    return {**_checked(changed, known=known, evaluation=(EVALUATION,)), **asdict(said)}


def plays_right(side: Side) -> bool:
    """Whether the rewrite's own reference still wins on a few seeds of every level."""
    for level in range(side.worker.interface.levels):
        for seed in (4, 9):
            actions = side.reference((level, seed))
            if actions is None or not side.play((level, seed), actions).won:
                return False
    return True
