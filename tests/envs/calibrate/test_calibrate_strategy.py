"""Letting a model write a strategy hint: refusals go back to it, passes are kept."""

from datetime import UTC, datetime

import pytest

from spade_envs.calibrate.strategy import write_strategy
from spade_envs.design.strategy import NoHint, prompt_id, read_strategy, strategy_prompt
from spade_envs.errors import ClientError
from spade_envs.types import Completion, EnvSource, GateResult

SOURCE = EnvSource(code="class Maze:\n    '''A maze.'''\n")
DIGEST = f"sha256:{1:064x}"


class Script:
    name = "script"

    def __init__(self, *said):
        self.said, self.asked = list(said), []

    def complete(self, messages, *, seed, max_tokens, temperature):
        self.asked.append((messages[0].content, seed))
        if not self.said:
            raise ClientError("no more")
        return Completion(text=self.said.pop(0), model=self.name, finish_reason="stop")


def judge(source, text):
    outcome = "fail" if "answer is" in text else "pass"
    return tuple(
        GateResult(gate=gate, title="", outcome=outcome, message=f"{gate} said so", evidence={})
        for gate in ("L4.1", "L4.2", "L4.3")
    )


def write(policy, **more):
    now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    return write_strategy(policy, DIGEST, SOURCE, check=judge, now=lambda: now, **more)


def test_a_refused_hint_goes_back_with_the_reasons_and_the_next_is_kept():
    policy = Script("The answer is 7.", "```python\nx\n```", "<think>Hm.</think>Keep left.")
    written = write(policy)
    assert written.strategy.text == "Keep left."
    assert written.strategy.written_at == "2026-01-02T03:04:05Z"
    assert written.strategy.verdicts == {"L4.1": "pass", "L4.2": "pass", "L4.3": "pass"}
    assert written.strategy.prompt == prompt_id()
    assert [bool(each.reason) for each in written.tries] == [True, True, False]
    prompts = [text for text, _ in policy.asked]
    assert "class Maze" in prompts[0]
    assert "refused" not in prompts[0]
    assert "> The answer is 7." in prompts[1]
    assert "L4.1 said so" in prompts[1]
    assert "it holds code" in prompts[2]
    assert len({seed for _, seed in policy.asked}) == 3


def test_without_a_pass_nothing_is_kept_and_all_reasons_are_told():
    written = write(Script("The answer is 7.", "The answer is 8."), tries=2)
    assert written.strategy is None
    assert [each.text for each in written.tries] == ["The answer is 7.", "The answer is 8."]


def test_a_model_without_an_answer_is_an_error_of_its_client():
    with pytest.raises(ClientError):
        write(Script())


@pytest.mark.parametrize(
    ("text", "finish", "reason"),
    [
        ("", "stop", "empty"),
        ("<think>only this", "stop", "empty"),
        ("Go on", "length", "cut off"),
        ("word " * 400, "stop", "400 words"),
        ("Do\n~~~\nx\n~~~", "stop", "code"),
    ],
)
def test_what_is_no_hint_is_told_apart(text, finish, reason):
    found = read_strategy(Completion(text=text, model="m", finish_reason=finish))
    assert isinstance(found, NoHint)
    assert reason in found.reason


def test_hostile_source_stays_text():
    source = EnvSource(code="# $words ${evidence} $unknown\nclass A:\n    pass\n")
    (message,) = strategy_prompt(source)
    assert "# $words ${evidence} $unknown" in message.content
