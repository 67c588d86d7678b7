"""Our own code, run where it may be killed and can harm nothing: scorers that read model text.

A judge is a source of ours with one function, `answer(ask)`, from JSON to JSON. It runs in a
worker of the sandbox, like an environment: a scorer that evaluates what it reads, hangs or eats
memory costs that one answer. What comes back is data.
"""

from __future__ import annotations

import inspect
import json
import threading
from collections.abc import Mapping, Sequence

from spade_envs.sandbox import Sandbox, Worker
from spade_envs.types import EnvSource, Json, Limits
from spade_envs.types import Fault as EnvFault
from spade_train.errors import SuiteError
from spade_train.suites import plain

LIMITS = Limits(
    load_timeout_s=120.0,
    reset_timeout_s=10.0,
    step_timeout_s=60.0,
    memory_mb=4096,
    max_observation_chars=8_000_000,
    max_action_chars=8_000_000,
)
"""Of one judge; a step is one answer."""

_HEAD = "import json\n\nfrom spade_envs.api import TextEnv\n\n"
_TAIL = '''

class Judge(TextEnv):
    """Answers one question in each episode."""

    max_turns = 1

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        return "", {}

    def step(self, action):
        return self.win(json.dumps(answer(json.loads(action))))
'''


class Judge:
    """Asks one source; its process starts at the first question and anew after a fault.

    Args:
        code: a source with `answer(ask)`; `packed` and `unpacked` are there.
        sandbox: with the libraries that it imports.
        limits: of each answer.
    """

    def __init__(self, code: str, sandbox: Sandbox, limits: Limits = LIMITS) -> None:
        functions = "\n\n".join(inspect.getsource(f) for f in (plain.packed, plain.unpacked))
        head = _HEAD + "from typing import Any\n\n\n" + functions + "\n\n"
        self._source = EnvSource(code=head + code + _TAIL, origin="<judge>")
        self._sandbox, self._limits = sandbox, limits
        self._worker: Worker | None = None
        self._instance = -1
        self._lock = threading.Lock()

    def ask(self, question: Mapping[str, Json]) -> Json | EnvFault:
        """Return the answer, or how the judge failed at it.

        Raises:
            SuiteError: the judge cannot be started.
            IsolationUnavailable: there is no sandbox on this machine.
        """
        text = json.dumps(dict(question))
        with self._lock:
            worker = self._started()
            (begun,) = worker.reset([(self._instance, 0, None)])
            if begun.fault is not None:
                return begun.fault
            (step,) = worker.step([(self._instance, text)])
        if step.fault is not None:
            return step.fault
        try:
            return json.loads(step.observation)
        except (ValueError, RecursionError):
            return EnvFault(kind="protocol", op="step", message="an answer that is not JSON")

    def close(self) -> None:
        """End the process; a later question starts another."""
        with self._lock:
            if self._worker is not None:
                self._worker.close()
                self._worker = None

    def _started(self) -> Worker:
        if self._worker is None:
            loaded = self._sandbox.load(self._source, limits=self._limits, spin=False)
            if isinstance(loaded, EnvFault):
                raise SuiteError(f"a scorer cannot be started: {loaded.message}")
            made = loaded.create()
            if isinstance(made, EnvFault):
                loaded.close()
                raise SuiteError(f"a scorer cannot be started: {made.message}")
            self._worker, self._instance = loaded, made
        return self._worker


def library_sandbox(libraries: Sequence[str], folder: str) -> Sandbox:
    """Return a sandbox whose sources may import libraries that read their own data.

    Args:
        libraries: top-level modules.
        folder: where they are looked for first; it need not exist.
    """
    return Sandbox(libraries=tuple(libraries), extra_path=(folder,), weaker=True)
