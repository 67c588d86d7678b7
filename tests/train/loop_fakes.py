"""Scripted rollouts for tests of the loop: agents of known skill, designers without a model."""

import threading

import numpy as np

from spade_envs.audit import Audit, Remark
from spade_envs.types import EnvSource, Episode, Fault
from spade_train.batch import UpdateStats
from spade_train.config import read_config
from spade_train.errors import StateError
from spade_train.loop import Loop, Spans
from spade_train.loop.ports import Audited
from spade_train.rollouts.hints import WrittenHint
from spade_train.rollouts.jobs import Designed, Played
from spade_train.tokens.dialogue import Dialogue, Segment
from spade_train.types import EpisodeResult, HintInformation

LEVELS = 4
TINY = {
    "setting": "mixed",
    "run": {"updates": 4, "save_interval": 2, "seed": 5},
    "designer": {
        "environments": 4,
        "interval": 1,
        "delay": 0,
        "gain": 1.0,
        "skills": ["mathematical-reasoning", "pattern-recognition"],
        "score": {"name": "regret"},
        "sampling": {"temperature": 0.5, "max_tokens": 64},
    },
    "agent": {"episodes_per_env": 8, "sampling": {"max_tokens": 16}},
    "hint": {"episodes_per_env": 4},
    "corpus": {"source": "none"},
    "evaluation": {"episodes": 0},
}


def config(**sections):
    """Return the tiny configuration with sections or keys (by dots) changed."""
    values = {key: dict(value) if isinstance(value, dict) else value for key, value in TINY.items()}
    for path, value in sections.items():
        *folders, key = path.split("__")
        place = values
        for folder in folders:
            place[folder] = dict(place.get(folder, {}))
            place = place[folder]
        place[key] = value
    return read_config(values, "test")


def talk(tokens, seed=0):
    """Return a dialogue of a prompt and `tokens` sampled tokens."""
    ids = tuple(int(i) for i in np.random.default_rng(seed).integers(3, 200, tokens))
    return Dialogue((Segment((1, 2, 3)), Segment(ids, (-0.25,) * tokens)))


def digest(key):
    return "sha256:" + EnvSource(code=f"# {key}").sha256


class FakeRollouts:
    """The agent wins level k with chance skill - k / 10, with a hint 0.3 more."""

    def __init__(self, *, refuse=(), broken=(), skill=0.7, repeat=None):
        self.refuse, self.broken, self.skill, self.repeat = refuse, broken, skill, repeat
        self.played, self.designed, self.sources, self.known = [], [], {}, []

    def act(self, jobs, *, sampling=None):
        self.sampling = sampling
        begun = list(jobs)
        self.played += begun
        return [self._play(job) for job in begun]

    def _play(self, job):
        draw = np.random.default_rng(job.sample_seed).random()
        chance = self.skill - job.level / 10 + 0.3 * job.hinted
        fault = "crash" if self._breaks(job) else None
        won = bool(draw < chance) and fault is None
        result = EpisodeResult(
            env=job.env,
            level=job.level,
            seed=job.seed,
            update=job.update,
            hinted=job.hinted,
            success=won,
            total_reward=float(won),
            fault=fault,
        )
        episode = Episode(
            env_id=job.env,
            level=job.level,
            seed=job.seed,
            first_observation="go",
            turns=(),
            total_reward=float(won),
            success=won,
            terminated=True,
            truncated=False,
            hinted=job.hinted,
            fault=Fault(kind="crash", op="step", message="gone") if fault else None,
        )
        return Played(
            job=job,
            result=result,
            dialogue=talk(2 + job.level, job.sample_seed),
            episode=episode,
            hint=f"first comes {job.seed}" if job.hinted else "",
            solution=(f"{job.seed} then {job.level}",),
        )

    def _breaks(self, job):
        return any(self.sources.get(job.env, "").endswith(end) for end in self.broken)

    def design(self, jobs, *, known):
        self.known.append(frozenset(known))
        for job in jobs:
            self.designed.append(job)
            yield self._design(job)

    def _design(self, job):
        talked = talk(20 + job.sample_seed % 7, job.sample_seed)
        if any(job.key.endswith(end) for end in self.refuse):
            return Designed(
                job=job, dialogue=talked, text="", stage="gates", reason="L3.3: pays ignorance"
            )
        name = self.repeat or job.key
        self.sources[digest(name)] = name
        return Designed(
            job=job,
            dialogue=talked,
            text="",
            env=digest(name),
            source=EnvSource(code=f"# {name}"),
            hints_withheld=True,
            levels=LEVELS,
            hint=HintInformation(words=5, overlap=0.1),
            title=name,
            summary="a test",
        )

    def write_hints(self, jobs):
        return [WrittenHint(f"hint for {job.key}", talk(3)) for job in jobs]

    def audit(self, sources):
        remark = Remark(kind="unreachable", line=1, quote="#", explanation="never")
        audit = Audit(status="audited", model="fake", remarks=(remark,))
        return Audited((audit,) * len(sources), 5 * len(sources))

    def spans(self):
        return Spans({"play_s": 0.0})


class FakeShelf:
    def __init__(self, rollouts):
        self.rollouts = rollouts

    def source(self, wanted):
        if wanted not in self.rollouts.sources:
            raise StateError(wanted)
        return EnvSource(code=f"# {self.rollouts.sources[wanted]}")


class ListBook:
    def __init__(self):
        self.metrics, self.events, self.lines = [], [], []

    def log(self, update, values):
        self.metrics.append({"update": update, **values})

    def note(self, kind, update, /, **fields):
        self.events.append({"kind": kind, "update": update, **fields})

    def plays(self, lines):
        self.lines += lines

    def of(self, kind):
        return [event for event in self.events if event["kind"] == kind]


class Threads:
    """A world whose processes are threads of the test."""

    def __init__(self, rank, size, desk):
        self.rank, self.size, self._desk = rank, size, desk

    @staticmethod
    def desk(size):
        return {"values": [None] * size, "barrier": threading.Barrier(size, timeout=20)}

    def gather(self, value):
        self._desk["values"][self.rank] = value
        self._desk["barrier"].wait()
        values = list(self._desk["values"])
        self._desk["barrier"].wait()
        return values


def make(configuration, world, *, rollouts=None, **more):
    rollouts = rollouts or FakeRollouts()
    book = ListBook()
    return Loop(configuration, rollouts, FakeShelf(rollouts), book, world, **more), rollouts, book


def drive(loop, *, start=0, most=100):
    """Ask for batches in turn as the trainer does; return them."""
    batches = []
    for update in range(start, start + most):
        batch = loop.batch(update)
        if batch is None:
            break
        batches.append(batch)
        if not loop.updated(update, UpdateStats(values={"train/loss": float(update)})):
            break
    return batches
