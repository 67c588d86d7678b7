"""Six small environments that are different, and what certifies anything without running it."""

from __future__ import annotations

from spade_envs.types import EnvSource, GateResult, Interface, Report

PROVENANCE = {"method": "hand-written", "created": "2026-01-02T03:04:05Z", "tool": "a test"}

_ONE_TURN = '''from spade_envs.api import TextEnv, answer_of


class {name}(TextEnv):
    """{doc}"""

    levels, max_turns = 2, {turns}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.a, self.b = (self.draw_int(11, 99) * 10**self.level for _ in range(2))
        self.want = str({want})
        return f"{prompt} {{self.a}} and {{self.b}}. Answer in \\\\boxed{{{{}}}}.", {{}}

    def step(self, action):
        if answer_of(action) == self.want:
            return self.win("Right.")
        return self.{miss}("No.")

    def hint(self):
        return "Look at both numbers."

    def solution(self):
        return [f"\\\\boxed{{{{{{self.want}}}}}}"]
'''


def one_turn(
    name: str, want: str, prompt: str, *, doc: str = "", turns: int = 1, miss: str = "lose"
) -> EnvSource:
    code = _ONE_TURN.format(
        name=name, want=want, prompt=prompt, doc=doc or f"{prompt} two numbers.", turns=turns,
        miss=miss,
    )  # fmt: skip
    return EnvSource(code=code, origin=name)


SUM = one_turn("SumEnv", "self.a + self.b", "Add the numbers")
SAME_WORDS = "Apply the rule to the numbers"
SIX = (
    SUM,
    one_turn("DifferenceEnv", "self.a - self.b", "Take the second from the first:"),
    one_turn("ProductEnv", "self.a * self.b", "Multiply"),
    one_turn("RemainderEnv", "self.a % self.b", "What is left when one divides the other:"),
    one_turn("LargerEnv", "max(self.a, self.b)", "Name the larger of", turns=3, miss="say"),
    one_turn("DigitsEnv", "sum(map(int, f'{self.a}{self.b}'))", "Sum all digits of"),
)


def report_of(source: EnvSource) -> Report:
    entry = source.code.split("class ")[1].split("(")[0].split(":")[0]
    return Report(
        source_sha256=source.sha256,
        gates_version="1",
        interface=Interface(entry=entry, kind="text", has_hint=True, has_solution=True),
        results=(GateResult(gate="L3.1", title="reference", outcome="pass", message="won"),),
    )


def publish(store, source, door=None, **options):
    record = store.add(source, report_of(source), PROVENANCE, **options)
    if door is not None:
        door.add(record, source)
    return record


def kept(store, door, sources):
    """Return those of some sources that the door lets in, in order; each is published."""
    found = []
    for source in sources:
        if door.judge(source).refused is None:
            publish(store, source, door)
            found.append(source)
    return found
