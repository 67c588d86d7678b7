import json

import pytest

from spade_envs.errors import ConfigError
from spade_envs.types import Message
from spade_train.errors import StateError
from spade_train.evaluate.agreement import agreement
from spade_train.evaluate.players import Reply, RulePlayer
from spade_train.evaluate.records import TRANSCRIPTS, read_transcripts
from spade_train.evaluate.run import Evaluation, Plan
from spade_train.suites.base import Decoding, Score, Task


class Talk:
    """Two greetings, then up to three questions; it may say something else than yesterday."""

    done = False

    def __init__(self, task, version):
        self.task, self.version, self.replies = task, version, []
        self.messages = (Message("system", "Greet."), Message("assistant", "Hello."))
        self.messages += (Message("user", f"{task.id}?"),)

    def reply(self, said):
        self.replies.append(said)
        told = f"And {len(self.replies)}{self.version if self.task.id == 'b' else ''}?"
        self.messages += (Message("assistant", said), Message("user", told))
        self.done = len(self.replies) == 3

    def score(self):
        return Score(value=self.replies.count("yes") / 3, success=False)

    def close(self):
        pass


class Talks:
    name, version, settings, labels, decoding = "talks", "1", {}, {}, Decoding(max_turns=3)

    def __init__(self, version=""):
        self.said = version

    def tasks(self):
        return [Task(name, "all") for name in "abc"]

    def open(self, task, *, seed):
        return Talk(task, self.said)


def played(folder, name, rule, *, suite=None, transcripts=True, **plan):
    player = RulePlayer(name, lambda ask: Reply(text=rule(ask.session.task.id, ask.turn)))
    plan = Plan(decoding=Decoding(max_turns=3), **plan)
    found = Evaluation(suite or Talks(), player, plan, folder, transcripts=transcripts)
    list(found.run())
    return found.folder


def test_what_differs_is_found_once_and_what_follows_is_not_compared(tmp_path):
    left = played(tmp_path, "left", lambda task, turn: "yes")
    right = played(
        tmp_path, "right", lambda task, turn: "no" if (task, turn > 0) == ("b", True) else "yes"
    )
    found = agreement(left, right)
    assert (found.attempts, found.replies, found.equal) == (3, 3 + 2 + 3, 7)
    (parting,) = found.partings
    assert (parting.task, parting.turn, parting.left, parting.right) == ("b", 1, "yes", "no")
    assert [each.content for each in parting.messages][-3:] == ["b?", "yes", "And 1?"]
    assert found.scores == (("b", 1.0, pytest.approx(1 / 3)),)
    assert found.astray == ()
    same = agreement(left, left)
    assert (same.replies, same.equal, same.scores) == (9, 9, ())


def test_a_suite_that_says_something_else_is_told_apart(tmp_path):
    left = played(tmp_path, "left", lambda task, turn: "yes")
    right = played(tmp_path, "right", lambda task, turn: "yes", suite=Talks("!"))
    found = agreement(left, right)
    assert found.astray == ("b",)
    assert (found.replies, found.partings) == (3 + 1 + 3, ())


def test_what_cannot_be_compared_is_told(tmp_path):
    left = played(tmp_path, "left", lambda task, turn: "yes")
    plain = played(tmp_path, "plain", lambda task, turn: "yes", transcripts=False)
    later = played(tmp_path, "later", lambda task, turn: "yes", seed=1)
    with pytest.raises(ConfigError, match="no transcripts: evaluate with --transcripts"):
        agreement(left, plain)
    with pytest.raises(ConfigError, match="different suites, settings or seeds"):
        agreement(left, later)


@pytest.mark.parametrize(
    "line",
    ["{", "[]", '{"task": "a", "sample": 0, "messages": [["wizard", "hm"]]}', "[" * 2000],
)
def test_a_damaged_line_is_named_and_a_torn_one_left_out(line, tmp_path):
    good = json.dumps({"task": "a", "sample": 0, "messages": [["user", "hm"]]})
    (tmp_path / TRANSCRIPTS).write_text(f"{good}\n{good[:20]}")
    assert read_transcripts(tmp_path) == {("a", 0): (Message("user", "hm"),)}
    (tmp_path / TRANSCRIPTS).write_text(f"{good}\n{line}\n")
    with pytest.raises(StateError, match="line 2 is no conversation"):
        read_transcripts(tmp_path)
