"""Tools that are dead or described wrongly, tasks that are met already, values nobody can know."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator

from benchmarks.defects.bench import GARBAGE, Bench, Spot
from benchmarks.defects.body import Body
from benchmarks.defects.operators.base import Operator, around, lost
from benchmarks.defects.operators.reach import _predicates

TOOLS = ("tool", "published-tool")
_NAME = re.compile(r'"name": "(\w+)"')


def _call(name: str, **arguments: object) -> str:
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


def _tools(body: Body) -> list[ast.FunctionDef]:
    return [
        node
        for node in body.cls.body
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(item, ast.Name) and item.id == "tool" for item in node.decorator_list)
    ]


def _used(bench: Bench) -> set[str]:
    """Return the names of the tools that the reference calls."""
    found: set[str] = set()
    for spot in bench.spots:
        for action in bench.original.reference(spot) or ():
            found |= set(_NAME.findall(action))
    return found


def _dead(body: Body) -> Iterator[Body]:
    """Let one tool refuse whatever it is asked."""
    for index in range(len(_tools(body))):
        new = body.fresh()
        chosen = _tools(new)[index]
        keep = chosen.body[:1] if ast.get_docstring(chosen) is not None else []
        code = "raise ToolError('this service is out of order')"
        chosen.body = [*keep, *ast.parse(code).body]
        if "ToolError" not in new.code().split("class ")[0]:
            new.head("from spade_envs.api import ToolError")
        yield new


def _one_is_dead(bench: Bench) -> str | None:
    """Witness: a tool that the reference does without, and that worked, always fails."""
    if bench.share(bench.loses, 0.01) is not None:
        return None
    dead = _differing(bench, "out of order")
    return f"{dead} never works" if dead and dead not in _used(bench) else None


def _differing(bench: Bench, text: str) -> str | None:
    """Return the tool whose replies in the mutant hold a text."""
    for schema in bench.mutant.worker.interface.tools:
        function = schema["function"]
        arguments = {
            key: _sample(value)
            for key, value in function["parameters"].get("properties", {}).items()
            if key in function["parameters"].get("required", ())
        }
        step = bench.mutant.play(bench.spots[0], [_call(function["name"], **arguments)])
        if step.steps and text in step.steps[0].observation:
            return str(function["name"])
    return None


def _sample(schema: dict[str, object]) -> object:
    if "enum" in schema:
        return schema["enum"][0]  # type: ignore[index]
    return {"integer": 1, "number": 1.0, "array": [], "boolean": True}.get(
        str(schema.get("type")), "x"
    )


def _unguarded(body: Body) -> Iterator[Body]:
    """Leave out one test that refuses a value which does not exist."""
    for index in range(len(_guards(body))):
        new = body.fresh()
        chosen = _guards(new)[index]
        for node in ast.walk(new.cls):
            if isinstance(node, ast.FunctionDef) and chosen in node.body:
                node.body.remove(chosen)
        yield new


def _guards(body: Body) -> list[ast.If]:
    return [
        item
        for node in ast.walk(body.cls)
        if isinstance(node, ast.FunctionDef)
        for item in node.body
        if isinstance(item, ast.If) and isinstance(item.body[0], ast.Raise)
    ]


def _crashes(bench: Bench) -> str | None:
    """Witness: one call faults in the mutant and not in the original."""
    for schema in bench.mutant.worker.interface.tools:
        function = schema["function"]
        arguments = {
            key: "x" * 60
            if value.get("type") == "string" and "enum" not in value
            else _sample(value)
            for key, value in function["parameters"].get("properties", {}).items()
        }
        text = _call(function["name"], **arguments)
        mutant = bench.mutant.play(bench.spots[0], [text]).fault
        if mutant is not None and bench.original.play(bench.spots[0], [text]).fault is None:
            return f"{function['name']} fails: {mutant.message}"
    return None


def _misnamed(body: Body) -> Iterator[Body]:
    """Let a docstring name a parameter that is not there."""
    for index, chosen in enumerate(_tools(body)):
        text = ast.get_docstring(chosen, clean=False) or ""
        for arg in chosen.args.args[1:]:
            if f"{arg.arg}: " in text:
                new = body.fresh()
                own = _tools(new)[index]
                doc = text.replace(f"{arg.arg}: ", f"{arg.arg}_code: ", 1)
                own.body[0] = ast.Expr(ast.Constant(doc))
                yield new
                break


def _is_misnamed(bench: Bench) -> str | None:
    """Witness: the source's docstring names a parameter that its signature lacks."""
    for node in ast.walk(ast.parse(bench.mutant.code)):
        if isinstance(node, ast.FunctionDef):
            text = (ast.get_docstring(node) or "").partition("Args:")[2]
            named = set(re.findall(r"^\s*(\w+): ", text, re.MULTILINE))
            if named - {arg.arg for arg in node.args.args}:
                return f"{node.name} documents {min(named - {a.arg for a in node.args.args})}"
    return None


def _schema_off(body: Body) -> Iterator[Body]:
    """Let the schema of a published tool name a parameter otherwise than its method does."""
    for method in body.cls.body:
        if not (isinstance(method, ast.FunctionDef) and method.name.startswith("tool_")):
            continue
        for arg in method.args.args[1:]:
            new = body.fresh()
            own = new.method(method.name)
            assert own is not None
            for node in ast.walk(own):
                if isinstance(node, ast.Name) and node.id == arg.arg:
                    node.id = f"the_{arg.arg}"
                if isinstance(node, ast.arg) and node.arg == arg.arg:
                    node.arg = f"the_{arg.arg}"
            yield new


def _wrong_annotation(body: Body) -> Iterator[Body]:
    """Swap int and str in the annotation of a tool's parameter."""
    swapped = {"int": "str", "str": "int"}
    for index, chosen in enumerate(_tools(body)):
        for place, arg in enumerate(chosen.args.args):
            if isinstance(arg.annotation, ast.Name) and arg.annotation.id in swapped:
                new = body.fresh()
                own = _tools(new)[index].args.args[place].annotation
                assert isinstance(own, ast.Name)
                own.id = swapped[own.id]
                yield new


def _undecorated(body: Body) -> Iterator[Body]:
    """Leave a tool out of the list of tools."""
    for index in range(len(_tools(body))):
        new = body.fresh()
        chosen = _tools(new)[index]
        chosen.decorator_list = []
        yield new


def _met_at_reset(body: Body) -> Iterator[Body]:
    """Let one task be met before anything is done."""
    for index in range(len(_predicates(body))):
        new = body.fresh()
        _predicates(new)[index].body = ast.Constant(True)
        yield new


def _wins_early(bench: Bench) -> str | None:
    """Witness: closing words win without any call, or with a call that changes nothing."""

    def trial(spot: Spot) -> bool:
        name = bench.mutant.worker.interface.tools[0]["function"]["name"]
        for first in ([], [_call(name)]):
            actions = [*first, *(bench.original.reference(spot) or [])[-1:]]
            if bench.differs(spot, actions):
                return True
        return False

    found = bench.share(trial)
    return found and f"the last action alone wins in {found}"


def _extra_task(body: Body) -> Iterator[Body]:
    """Ask first for something that is so already."""
    new = body.fresh()
    if new.kind != "tool":
        return
    new.head("from spade_envs.api import Task as Wish")
    own = new.method("begin")
    if own is not None:
        return
    new.add("""
def begin(self, introduction):
    wish = Wish("Make sure that the records are open.", done=lambda s: s is not None)
    self.tasks = [wish, *self.tasks]
    return super().begin(introduction)
""")
    yield new


def _said_at_once(bench: Bench) -> str | None:
    """Witness: after a call that does nothing, the second wish is already spoken."""

    def trial(spot: Spot) -> bool:
        played = bench.mutant.play(spot, [_call("no_such_tool")])
        original = bench.original.play(spot, [])
        wish = str(original.start.info.get("user", ""))
        return "records are open" in played.start.observation and wish in (
            played.steps[0].observation if played.steps else ""
        )

    found = bench.share(trial)
    return found and f"the first task is passed without doing anything in {found}"


_SECRET_STEP = """
if "<tool_call>" not in action:
    if self.pin not in action:
        return "User: And your code word?", 0.0, False, False, {}
    action = action.replace(self.pin, "").strip()
"""
_SECRET_SOLUTION = """
def solution(self):
    *steps, last = self.inner_solution()
    return [*steps, f"{last} {self.pin}" if "<tool_call>" not in last else last]
"""


def _underivable(body: Body) -> Iterator[Body]:
    """Ask at the end for a word that is shown nowhere."""
    new = body.fresh()
    own = new.method("solution")
    if own is None or new.kind != "tool":
        return
    own.name = "inner_solution"
    new.wrap_reset(
        after="self.pin = 'K' + str(100003 * (len(observation) + (seed or 0) * 7919) % 899981)"
    )
    new.wrap_step(_SECRET_STEP)
    new.add(_SECRET_SOLUTION)
    yield new


def _nobody_knows(bench: Bench) -> str | None:
    """Witness: the reference says a word that nothing has shown before, and needs it."""

    def trial(spot: Spot) -> bool | None:
        own, plain = bench.mutant.reference(spot), bench.original.reference(spot)
        if own is None or plain is None or own == plain:
            return None
        word = own[-1].split()[-1]
        played = bench.mutant.play(spot, own)
        shown = "\n".join(played.shown[: len(own)])
        return played.won and word not in shown and not bench.mutant.play(spot, plain).won

    found = bench.share(trial)
    return found and f"the reference knows a word that nothing shows in {found}"


_READ = re.compile(
    r"^(?:tool_)?(?:get|list|find|search|read|look|show|room|ask|telemetry|ship|"
    r"collectors|sheets|readings|instrument|recipe|manual|effective|rule|depart)"
)


def _reading_writes(body: Body) -> Iterator[Body]:
    """Let a tool that reads give each of its answers once."""
    for index, node in enumerate(body.cls.body):
        if not isinstance(node, ast.FunctionDef) or not _READ.match(node.name):
            continue
        if not (node.decorator_list or node.name.startswith("tool_")):
            continue
        new = body.fresh()
        own = new.cls.body[index]
        assert isinstance(own, ast.FunctionDef)
        place = 1 if ast.get_docstring(own) is not None else 0
        asked = ", ".join([repr(own.name), *(arg.arg for arg in own.args.args[1:])])
        own.body[place:place] = ast.parse(
            f"key = str(({asked}))\n"
            "if key in self.given_out:\n    return 'the page is empty'\n"
            "self.given_out.append(key)"
        ).body
        new.wrap_reset(after="self.given_out = []")
        yield new


def _second_read_differs(bench: Bench) -> str | None:
    """Witness: a call that the reference makes gives another result when it is made often."""

    def trial(spot: Spot) -> bool | None:
        actions = bench.original.reference(spot) or []
        for action in actions[:3]:
            if "<tool_call>" not in action:
                continue
            texts = []
            for side in (bench.mutant, bench.original):
                played = side.play(spot, [action] * (bench.max_turns - 1))
                texts.append(len({step.observation for step in played.steps}))
            if texts[0] > texts[1]:
                return not bench.loses(spot)
        return False

    found = bench.share(trial)
    return found and f"reading again gives something else in {found}"


def _expectation_shown(bench: Bench) -> str | None:
    """Witness: any call shows the last answer, in the mutant only."""

    def trial(spot: Spot) -> bool | None:
        truth = bench.answer(spot)
        if truth is None or bench.loses(spot) or not bench.decides(spot):
            return None
        told = [
            f"expects: {truth}]" in side.play(spot, [_call("no_such_tool")]).steps[0].observation
            for side in (bench.mutant, bench.original)
        ]
        return told == [True, False]

    found = bench.share(trial)
    return found and f"a result shows what is expected in {found}"


def _shortcut(body: Body) -> Iterator[Body]:
    """Offer a tool that closes every task."""
    new = body.fresh()
    if new.kind != "tool":
        return
    new.add('''
@tool
def close_ticket(self) -> str:
    """Close the ticket of the user."""
    self._task = len(self.tasks)
    return "closed"
''')
    yield new


def _shortcut_wins(bench: Bench) -> str | None:
    def trial(spot: Spot) -> bool:
        return bench.differs(spot, [_call("close_ticket"), GARBAGE])

    found = bench.share(trial)
    return found and f"one call and any word win in {found}"


OPERATORS = (
    Operator(
        "dead-tool", "has a tool that never works", _dead, _one_is_dead, "code", kinds=("tool",)
    ),
    Operator(
        "crashing-tool",
        "has a tool that fails on an unknown value",
        _unguarded,
        _crashes,
        "code",
        kinds=("tool",),
    ),
    Operator(
        "docstring-mismatch",
        "documents a parameter that a tool does not have",
        _misnamed,
        _is_misnamed,
        "declaration",
        kinds=("tool",),
    ),
    Operator(
        "schema-mismatch",
        "declares a parameter under another name",
        _schema_off,
        lost,
        "declaration",
        kinds=("published-tool",),
    ),
    Operator(
        "wrong-annotation",
        "declares a parameter of another type",
        _wrong_annotation,
        lost,
        "declaration",
        kinds=("tool",),
    ),
    Operator(
        "missing-tool",
        "leaves a tool out that its tasks need",
        _undecorated,
        lost,
        "declaration",
        kinds=("tool",),
    ),
    Operator(
        "met-at-reset",
        "has a task that is met before it is asked",
        _met_at_reset,
        _wins_early,
        "verifier",
        kinds=TOOLS,
    ),
    Operator(
        "idle-task",
        "begins with a task that is met already",
        _extra_task,
        _said_at_once,
        "code",
        kinds=("tool",),
    ),
    Operator(
        "underivable",
        "asks for a word that nothing reveals",
        _underivable,
        _nobody_knows,
        "code",
        kinds=("tool",),
    ),
    Operator(
        "reading-writes",
        "takes away what a reading tool has read",
        _reading_writes,
        _second_read_differs,
        "code",
        kinds=TOOLS,
    ),
    Operator(
        "shortcut-tool",
        "has a tool that closes every task",
        _shortcut,
        _shortcut_wins,
        "code",
        kinds=("tool",),
    ),
    Operator(
        "leak-tool-result",
        "adds what it expects to every result",
        around(
            after="if '<tool_call>' in action and not terminated:\n"
            "    observation = f'{observation} [expects: ' + plain(self.gold[-1]) + ']'"
        ),
        _expectation_shown,
        kinds=TOOLS,
    ),
)
