"""Examinations that a worker makes of its own environment, for the gates.

What a probe answers is the word of a process that runs foreign code: good enough to refuse an
environment, never to trust one.
"""

from __future__ import annotations

import copy
import resource
import warnings
from collections.abc import Callable
from typing import Any

from spade_envs.sandbox import audit, effects, lasting
from spade_envs.sandbox.clones import clones
from spade_envs.sandbox.instances import FaultTuple, Table, fault_of
from spade_envs.sandbox.protocol import Probe

_MAX_REPR = 200_000
_baseline_kib = 0


def start() -> None:
    """Note how much memory an empty worker uses."""
    global _baseline_kib
    _baseline_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def run(table: Table, request: Probe) -> tuple[Any, FaultTuple | None]:
    """Return the answer of the probe, or the fault that it met."""
    probe = PROBES.get(request.kind)
    if probe is None:
        known = ", ".join(sorted(PROBES))
        return None, ("contract", f"no probe {request.kind!r}; known are {known}", "")
    try:
        return probe(table, request.instance, request.args), None
    except BaseException as error:  # noqa: BLE001  the boundary: the probes call foreign code
        return None, fault_of(error)


def _check_env(table: Table, number: int, _: dict[str, Any]) -> dict[str, Any]:
    """Run Gymnasium's checker on a fresh object of the same level; `error` is None if it passes."""
    from gymnasium.utils.env_checker import check_env

    env = table.entry(level=getattr(table.envs[number], "level", 0))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        error = None
        try:
            check_env(env, skip_render_check=True)
        except Exception as problem:  # noqa: BLE001  foreign code again; the checker asserts
            error = " ".join(f"{type(problem).__name__}: {problem}".split())[:1000]
    return {"error": error, "warnings": [str(item.message)[:300] for item in caught[:20]]}


def _copy(table: Table, number: int, args: dict[str, Any]) -> dict[str, Any]:
    """Copy an instance in its present state to the number `into`."""
    env = table.envs[number]
    if args.get("how", "deepcopy") == "pickle":
        # The environment's own state, inside the sandbox; the host never sees these bytes.
        import pickle  # noqa: TID251

        with audit.muted():
            twin = pickle.loads(pickle.dumps(env))  # noqa: S301
    else:
        twin = copy.deepcopy(env)
    table.adopt(int(args["into"]), twin, number)
    return {}


def _clones(table: Table, number: int, args: dict[str, Any]) -> dict[str, Any]:
    """Copy an instance in its present state to each of the numbers `into`."""
    numbers = list(args["into"])
    made = clones(table.envs[number], len(numbers))
    for into, twin in zip(numbers, made, strict=True):
        table.adopt(int(into), twin, number)
    return {}


def _repr(table: Table, number: int, _: dict[str, Any]) -> str:
    env = table.envs[number]
    return (repr(env) + "\n" + str(env))[:_MAX_REPR]


def _rss(_: Table, __: int, ___: dict[str, Any]) -> float:
    """Return the greatest memory in use so far, in MiB beyond an empty worker."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return max(0.0, (peak - _baseline_kib) / 1024)


def _effects(_: Table, __: int, ___: dict[str, Any]) -> list[str]:
    return effects.changes()


def _tasks(table: Table, number: int, _: dict[str, Any]) -> dict[str, Any]:
    """Return the current task of a tool environment, and which predicates hold, None for none."""
    env = table.envs[number]
    env = getattr(env, "inner", env)
    if hasattr(env, "_message_criteria"):
        current, tests = env._current_msg, list(env._message_criteria)
    else:
        current, tests = getattr(env, "_task", 0), [t.done for t in getattr(env, "tasks", ())]
    state = getattr(env, "state", getattr(env, "_state", None))
    met: list[bool | None] = []
    for test in tests[:100]:
        try:
            met.append(None if test is None else bool(test(copy.deepcopy(state))))
        except Exception:  # noqa: BLE001  foreign code; a test may fail before its time
            met.append(None)
    return {"current": int(current), "met": met}


_CHECKERS = (
    "is_correct", "is_solution", "check_answer", "check_solution", "verify_answer",
    "verify_solution", "verify", "accepts",
)  # fmt: skip
_MAX_ALTERNATIVES = 50


def _alternatives(table: Table, number: int, _: dict[str, Any]) -> list[list[str]]:
    """Return the environment's own further ways to win."""
    offered = table.envs[number].alternatives()
    if not isinstance(offered, list | tuple):
        raise TypeError("alternatives() must return a list of lists of actions")
    rows = [[row] if isinstance(row, str) else row for row in offered[:_MAX_ALTERNATIVES]]
    return [[str(action) for action in row] for row in rows]


def _accepts(table: Table, number: int, args: dict[str, Any]) -> dict[str, Any]:
    """Ask the environment's own checker about some answers, each on a copy of the instance."""
    env = table.envs[number]
    inner = getattr(env, "inner", env)
    for name in _CHECKERS:
        method = getattr(inner, name, None)
        if not callable(method):
            continue
        said: list[bool] = []
        for answer in args["answers"]:
            try:
                verdict = getattr(copy.deepcopy(inner), name)(answer)
            except Exception:  # noqa: BLE001  foreign code, and perhaps another signature
                verdict = None
            said.append(verdict is True or (isinstance(verdict, float) and verdict == 1.0))
        return {"name": name, "accepted": said}
    return {"name": "", "accepted": []}


def _lasting(table: Table, number: int, _: dict[str, Any]) -> dict[str, str]:
    return lasting.digests(table.envs[number])


def _advance(table: Table, number: int, args: dict[str, Any]) -> list[str]:
    return lasting.advance(table.envs[number], list(args["places"]), int(args["by"]))


def _live_on(table: Table, number: int, args: dict[str, Any]) -> dict[str, int]:
    env = table.envs[number]
    life = lasting.Life(
        seed=int(args["seed"]),
        scripts=[[str(action) for action in actions] for actions in args["scripts"]],
        asks=[name for name in args["asks"] if name in ("hint", "solution")],
        rounds=int(args["rounds"]),
        seconds=float(args["seconds"]),
    )
    level = getattr(env, "level", 0)
    return lasting.live_on(env, lambda: table.entry(level=level), life)


def _audit(_: Table, __: int, ___: dict[str, Any]) -> list[dict[str, Any]]:
    return audit.events()


PROBES: dict[str, Callable[[Table, int, dict[str, Any]], Any]] = {
    "check_env": _check_env,
    "copy": _copy,
    "clones": _clones,
    "repr": _repr,
    "rss_mb": _rss,
    "effects": _effects,
    "tasks": _tasks,
    "alternatives": _alternatives,
    "accepts": _accepts,
    "lasting": _lasting,
    "advance": _advance,
    "live_on": _live_on,
    "audit": _audit,
}
