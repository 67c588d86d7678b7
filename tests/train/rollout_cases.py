"""Environments, a scripted engine and small parts for tests of rollouts."""

import math
from dataclasses import dataclass, field

from spade_envs.store import open_store
from spade_envs.types import EnvSource, GateResult, Interface, Report
from spade_train.engines import Sampled
from spade_train.errors import EngineError
from spade_train.rollouts import EpisodeJob, Shelf
from spade_train.tokens import ChatFormat, Window

COUNT = """\
from spade_envs.api import TextEnv


class CountEnv(TextEnv):
    \"\"\"Say the numbers from one up, one a turn.\"\"\"

    levels = 3
    max_turns = 8

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.start = self.draw_int(1, 50)
        self.said = 0
        return f"Count {self.level + 1} from {self.start}", {}

    def step(self, action):
        if action != str(self.start + self.said):
            return self.lose("no")
        self.said += 1
        if self.said > self.level:
            return self.win("yes")
        return self.go_on(f"go on after {action}")

    def hint(self):
        return f"first {self.start}"

    def solution(self):
        return [str(self.start + n) for n in range(self.said, self.level + 1)]
"""

HANG = COUNT.replace(
    "        if action !=", "        while True:\n            pass\n        if action !="
)
CRASH = COUNT.replace(
    "        if action !=", "        import os\n        os._exit(3)\n        if action !="
)
RAISE = COUNT.replace("        if action !=", "        1 / 0\n        if action !=")
NO_HINT = COUNT[: COUNT.index("    def hint")]
SELFISH = COUNT.replace(
    '        return f"first', '        self.said = self.level\n        return f"first'
)
"""Its hint would win the game by being asked for."""

LIGHTS = """\
from spade_envs.api import Task, ToolEnv, tool


class LightsEnv(ToolEnv):
    \"\"\"Switch lamps on.\"\"\"

    max_turns = 6

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.lamp = self.draw(["hall", "attic", "porch"])
        self.state = {"on": []}
        self.tasks = [
            Task(f"Light the {self.lamp}.", done=lambda state: self.lamp in state["on"]),
            Task("Which lamp is on?", answer=self.lamp),
        ]
        return self.begin("You serve a house.")

    @tool
    def light(self, lamp: str) -> str:
        \"\"\"Switch a lamp on.

        Args:
            lamp: name of the lamp.
        \"\"\"
        self.state["on"].append(lamp)
        return f"{lamp} is on"
"""


def passed_report(source, interface=None):
    """Return a report that certifies a source, without running a gate."""
    from spade_envs.sandbox import default_sandbox

    if interface is None:
        with default_sandbox().load(source) as worker:
            interface = worker.interface
    result = GateResult(gate="L0.1", title="loads", outcome="pass", message="ok")
    assert isinstance(interface, Interface)
    return Report(
        source_sha256=source.sha256, gates_version="2", interface=interface, results=(result,)
    )


def shelf_at(folder):
    return Shelf(open_store(folder / "envstore", create=True), folder / "quick")


def stocked(folder, *codes):
    """Return a shelf with these programs and their digests."""
    shelf = shelf_at(folder)
    digests = []
    for code in codes:
        source = EnvSource(code=code)
        digests.append(shelf.add(source, passed_report(source), {}, skills=()).digest)
    return shelf, digests


def form_of(tokenizer, *, tokens=600, turn_tokens=60, **options):
    return ChatFormat.of(
        tokenizer, window=Window(tokens=tokens, turn_tokens=turn_tokens), **options
    )


@dataclass
class Scripted:
    """An engine that answers by `say(text of the conversation, request)`."""

    form: ChatFormat
    say: object
    seen: list = field(default_factory=list)
    forgotten: list = field(default_factory=list)
    batches: list = field(default_factory=list)

    def sample(self, requests):
        self.batches.append([request.key for request in requests])
        answers = []
        for request in requests:
            self.seen.append(request)
            text = self.form.template.decode(request.ids)
            said = self.say(text, request)
            ids = [*self.form.template.tokenizer.encode(said, add_special_tokens=False)]
            ids = [*ids, self.form.end][: request.max_tokens]
            if not ids:
                raise EngineError("nothing was said")
            answers.append(Sampled(tuple(ids), (-math.log(2),) * len(ids)))
        return answers

    def forget(self, keys):
        self.forgotten += keys

    def sync(self, update):
        pass

    def close(self):
        pass


def job(env, number, *, level=0, hinted=False, **fields):
    return EpisodeJob(
        key=f"{env[-6:]}/{number}/{'h' if hinted else 'p'}/{level}",
        env=env,
        level=level,
        seed=100 + number,
        hinted=hinted,
        sample_seed=number,
        update=0,
        **fields,
    )


def counts(text, request):
    """Play `COUNT` rightly: read the last number that was told and go on from there."""
    import re

    asked = re.findall(r"Count \d from (\d+)", text)[-1]
    said = re.findall(r"go on after (\d+)", text)
    return str(int(said[-1]) + 1) if said else asked
