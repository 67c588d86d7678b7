"""Tool use that writes: changing a state, and workflows of several steps."""

# ruff: noqa: E501  lines of the programs, which must come out as they stand

from __future__ import annotations

from spade_envs.types import Skill
from spade_train.nano.families.form import Draw, Family, Theme, tooled
from spade_train.nano.families.tools_read import LETTERS


def _stock(draw: Draw, theme: Theme) -> str:
    get, put = draw.pick((("get", "put"), ("read", "write"), ("see", "set"), ("find", "fill")))
    say = draw.pick(("Let {b} hold what {a} holds.", "Give {b} the number of {a}."))
    size = theme.size(draw, 1, 3)
    reset = f"""
        keys = self.draw_many("{draw.pick(LETTERS)}", {size} + 2 + self.level)
        rows = {{c: self.draw_int({draw.int(100, 300)}, {draw.int(700, 999)}) for c in keys}}
        self.state, self.goals, self.tasks = {{"rows": rows}}, [], []
        for a, b in zip(keys[1:], keys[:-1]):
            self.goals.append((a, b, rows[a]))
        del self.goals[-1]
        for a, b, x in self.goals:
            self.tasks.append(Task(f"{say}", done=lambda s, b=b, x=x: s["rows"][b] == x))
        return self.begin("{draw.pick((f"You keep {theme.many}.", f"{theme.Many} hold numbers."))}")
    """
    tools = [
        f'''
        @tool
        def {get}(self, item: str) -> str:
            """Return the number of one {theme.word}."""
            return str(self.state["rows"].get(item, "unknown"))
        ''',
        f'''
        @tool
        def {put}(self, item: str, number: int) -> str:
            """Change the number of one {theme.word}."""
            self.state["rows"][item] = number
            return "{draw.pick(("done", "ok"))}"
        ''',
    ]
    hint = """
        a, b, x = self.goals[0]
        return f"{a} holds {x}."
    """
    solution = f"""
        told = []
        for a, b, x in self.goals:
            told += [call("{get}", item=a), call("{put}", item=b, number=x)]
        return [*told, finish("Done.")]
    """
    return tooled(
        draw,
        name=theme.Word + draw.pick(("Store", "Stock", "Ledger", "Bins")),
        doc=f"Keep stock of {theme.many} as a user wants.",
        reset=reset,
        tools=tools,
        hint=hint,
        solution=solution,
        steps=2 * (size + 3) + 1,
    )


_STAGES = (
    ("find", "ship", "dock"),
    ("check", "file", "drawer"),
    ("weigh", "post", "channel"),
    ("test", "deploy", "node"),
    ("read", "publish", "volume"),
    ("look", "mail", "street"),
)


def _flow(draw: Draw, theme: Theme) -> str:
    one, two, where = draw.pick(_STAGES)
    size = theme.size(draw, 1, 3)
    reset = f"""
        keys = self.draw_many("{draw.pick(LETTERS)}", {size} + self.level)
        rows = {{c: self.draw_int({draw.int(100, 300)}, {draw.int(700, 999)}) for c in keys}}
        self.state = {{"rows": rows, "{two}": {{}}}}
        self.tasks = []
        for c, x in rows.items():
            self.tasks.append(Task(f"{two.capitalize()} {{c}} to its {where}.", done=lambda s, c=c, x=x: s["{two}"].get(c) == x))
        return self.begin("{draw.pick((f"You handle {theme.many}.", f"{theme.Many} are waiting."))}")
    """
    tools = [
        f'''
        @tool
        def {one}(self, item: str) -> str:
            """Return the {where} of {theme.one}."""
            return str(self.state["rows"].get(item, "unknown"))
        ''',
        f'''
        @tool
        def {two}(self, item: str, {where}: int) -> str:
            """{two.capitalize()} {theme.one} to a {where}."""
            self.state["{two}"][item] = {where}
            return "{draw.pick(("done", "ok"))}"
        ''',
    ]
    hint = f"""
        c = list(self.state["rows"])[0]
        return f"The {where} of {{c}} is {{self.state['rows'][c]}}."
    """
    solution = f"""
        told = []
        for c, x in self.state["rows"].items():
            told += [call("{one}", item=c), call("{two}", item=c, {where}=x)]
        return [*told, finish("Done.")]
    """
    return tooled(
        draw,
        name=theme.Word + draw.pick(("Flow", "Line", "Dispatch", "Process")),
        doc=f"Take {theme.many} through two stages.",
        reset=reset,
        tools=tools,
        hint=hint,
        solution=solution,
        steps=2 * (size + 3) + 1,
    )


TOOLS_WRITE = (
    Family(
        "stock", "tool", (Skill.STATE_MODIFICATION,), ("mappings", "numbers", "types"), _stock, 1
    ),
    Family(
        "flow",
        "tool",
        (Skill.MULTI_STEP_WORKFLOWS, Skill.STATE_MODIFICATION),
        ("control", "functions"),
        _flow,
        1,
    ),
)
