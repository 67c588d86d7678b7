"""What a worker finds out about its own environment, for the gates."""

import pytest

from spade_envs.types import EnvSource, Fault

HEAD = """
import datetime, random, time, uuid
import numpy as np
from spade_envs.api import TextEnv
class A(TextEnv):
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.rng = random.Random(seed)
        return "start", {}
    def step(self, action):
"""


def played(load, body: str, **settings):
    worker = load(
        HEAD + f"        {body}\n        return 'x', 0.0, False, False, {{}}\n", **settings
    )
    number = worker.create(0)
    assert worker.reset([(number, 1, None)])[0].fault is None
    return worker, number, worker.step([(number, "go")])[0]


def test_a_clean_environment_leaves_no_effects_and_no_events(load):
    worker, number, _ = played(load, "self.x = [i ** 2 for i in range(9)]; f'{np.arange(3)}'")
    assert worker.probe(number, "effects") == []
    assert worker.probe(number, "audit") == []


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("random.choice = None", "random.choice was replaced"),
        ("random.Random.extra = 1", "random.Random.extra was added"),
        ("TextEnv.metadata['k'] = 1", "TextEnv.metadata was changed"),
        ("np.seterr(all='raise')", "numpy's error handling was changed"),
        ("import sys; sys.setrecursionlimit(5000)", "the recursion limit was changed"),
        ("import sys; sys.path.append('x')", "sys.path was changed"),
        ("import builtins; builtins.zap = 1", "builtins.zap was added"),
        ("import warnings; warnings.simplefilter('error')", "the warning filters was changed"),
        ("import decimal; decimal.getcontext().prec = 5", "the decimal context was changed"),
        ("import signal; signal.signal(14, signal.SIG_IGN)", "the signal handlers was changed"),
        ("import sys; del sys.modules['json']", "module json was replaced or removed"),
    ],
)
def test_effects_name_what_changed(load, body, words):
    worker, number, outcome = played(load, body)
    assert outcome.fault is None
    assert words in worker.probe(number, "effects")


def test_audit_names_what_was_tried(load):
    worker, number, _ = played(load, "open('/etc/passwd')")
    events = worker.probe(number, "audit")
    assert {"event": "open", "detail": "'/etc/passwd'", "count": 1} in events


def test_check_env_passes_or_says_why_not(load, counter):
    good = counter.create(0)
    assert counter.probe(good, "check_env", {})["error"] is None
    worker, number, _ = played(load, "pass")
    broken = worker.probe(number, "check_env", {})
    assert broken["error"] is None
    worker = load(HEAD.replace('return "start", {}', 'return "start"') + "        pass\n")
    number = worker.create(0)
    assert "AssertionError" in worker.probe(number, "check_env", {})["error"]


@pytest.mark.parametrize("how", ["deepcopy", "pickle"])
def test_a_copy_goes_its_own_way(counter, how):
    number = counter.create(0)
    counter.reset([(number, 3, None)])
    counter.step([(number, "ab")])
    twin = counter.probe(number, "copy", {"how": how})["instance"]
    assert twin != number
    counter.step([(twin, "abcd")])
    assert counter.step([(number, "c")])[0].observation.split()[0] == "3"
    assert counter.step([(twin, "c")])[0].observation.split()[0] == "7"


def test_what_cannot_be_copied_is_a_fault(load):
    worker, number, _ = played(load, "self.held = (i for i in range(3))")
    fault = worker.probe(number, "copy", {"how": "deepcopy"})
    assert isinstance(fault, Fault)
    assert fault.op == "probe"
    assert "generator" in fault.message


def test_memory_and_repr(load):
    worker, number, _ = played(load, "self.big = bytearray(50 << 20)")
    assert 40 < worker.probe(number, "rss_mb") < 120
    assert "A" in worker.probe(number, "repr")


def test_an_unknown_probe_is_a_fault_that_lists_the_known(counter):
    fault = counter.probe(counter.create(0), "smell")
    assert "known are accepts, advance, alternatives, audit, check_env" in fault.message


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("random.random()", "random.random"),
        ("random.shuffle([1])", "random.shuffle"),
        ("random.Random()", "random.Random"),
        ("np.random.rand()", "numpy.random.rand"),
        ("np.random.default_rng()", "numpy.random.default_rng"),
        ("time.time()", "time.time"),
        ("time.sleep(0)", "time.sleep"),
        ("datetime.datetime.now()", "datetime.datetime.now"),
        ("datetime.date.today()", "datetime.date.today"),
        ("uuid.uuid4()", "uuid.uuid4"),
        ("import os; os.urandom(3)", "os.urandom"),
        ("import secrets; secrets.token_hex()", "secrets.token_hex"),
    ],
)
def test_poison_names_the_call(load, body, named):
    _, _, outcome = played(load, body, poison=True)
    assert outcome.fault.kind == "exception"
    assert f"poisoned: {named}() was called" in outcome.fault.message


def test_poison_also_catches_names_imported_from_a_module(sandbox):
    code = "from random import random\nX = random()\n"
    fault = sandbox.load(EnvSource(code=code), poison=True)
    assert "poisoned: random.random()" in fault.message


def test_poison_spares_seeded_generators_and_given_times(load):
    body = (
        "self.rng.random(); random.Random(3).choice([1]); np.random.default_rng(3).random(); "
        "self.np_random.integers(3); time.gmtime(0); datetime.datetime(2024, 1, 2).isoformat(); "
        "datetime.datetime.strptime('2024', '%Y')"
    )
    _, _, outcome = played(load, body, poison=True)
    assert outcome.fault is None
