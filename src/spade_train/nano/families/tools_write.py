"""Tool use that writes: changing a state, and workflows of several steps."""

# ruff: noqa: E501  lines of the programs, which must come out as they stand

from __future__ import annotations

from spade_envs.types import Skill
from spade_train.nano.families.form import Draw, Family, Theme, tooled

_LETTERS = ("ABCDEFGHJKLMNPQR", "CDFGHKLMNPQRSTVX", "KLMNPQRSTUVWXYZ")


def _stock(draw: Draw, theme: Theme) -> str:
    verb, code, say = draw.pick(
        (
            ("add", "{r} + amount", "Add an amount to"),
            ("take", "{r} - amount", "Take an amount from"),
            ("put", "amount", "Store an amount in"),
            ("double", "{r} * 2 + amount", "Double and then add an amount to"),
        )
    )
    back = {"add": "v - now", "take": "now - v", "put": "v", "double": "v - now * 2"}[verb]
    code = code.replace("{r}", 'self.state["rows"].get(item, 0)')
    reset = f"""
        n = {theme.size(draw, 4, steep=False)}
        keys = self.draw_many("{draw.pick(_LETTERS)}", n)
        rows = {{c: self.draw_int({draw.int(2, 20)}, {draw.int(60, 99)}) for c in keys}}
        self.state = {{"rows": rows}}
        self.goals = [(c, self.draw_int({draw.int(100, 300)}, {draw.int(400, 999)})) for c in self.draw_many(keys, 1 + self.level)]
        self.tasks = [
            Task(f"{draw.pick(("Bring {c} to {v}.", "Please make {c} hold {v}.", "{c} should be {v}."))}", done=lambda s, c=c, v=v: s["rows"][c] == v)
            for c, v in self.goals
        ]
        return self.begin(f"{theme.Many}: {{rows}}.")
    """
    tool = f'''
        @tool
        def {verb}(self, item: str, amount: int) -> str:
            """{say} {theme.one}."""
            self.state["rows"][item] = {code}
            return str(self.state["rows"][item])
    '''
    hint = """
        c, v = self.goals[0]
        return f"{c} is {self.state['rows'][c]} at first."
    """
    solution = f"""
        told = []
        for c, v in self.goals:
            now = self.state["rows"][c]
            told.append(call("{verb}", item=c, amount={back}))
        return [*told, finish("{draw.pick(("Done.", "All set.", "Ready."))}")]
    """
    return tooled(
        draw,
        name=theme.Word + draw.pick(("Store", "Stock", "Ledger", "Bins")),
        doc=f"Bring {theme.many} to the amounts that a user wants.",
        reset=reset,
        tools=[tool],
        hint=hint,
        solution=solution,
        steps=5,
    )


def _moves(draw: Draw, theme: Theme) -> str:
    verb = draw.pick(("move", "send", "shift", "give"))
    reset = f"""
        n = {theme.size(draw, 4, steep=False)}
        keys = self.draw_many("{draw.pick(_LETTERS)}", n)
        rows = {{c: self.draw_int({draw.int(50, 70)}, {draw.int(90, 300)}) for c in keys}}
        self.state = {{"rows": rows}}
        self.goals, self.tasks, now = [], [], dict(rows)
        for _ in range(1 + self.level):
            a, b = self.draw_many(keys, 2)
            k = self.draw_int({draw.int(2, 9)}, {draw.int(12, 14)})
            self.goals.append((a, b, k))
            now[a], now[b] = now[a] - k, now[b] + k
            self.tasks.append(Task(f"{draw.pick(("Move {k} from {a} to {b}.", "{b} needs {k} from {a}.", "Let {a} pass {k} on to {b}."))}", done=lambda s, want=dict(now): s["rows"] == want))
        return self.begin(f"{theme.Many}: {{rows}}.")
    """
    tool = f'''
        @tool
        def {verb}(self, source: str, target: str, amount: int) -> str:
            """{verb.capitalize()} an amount from one {theme.word} to another."""
            rows = self.state["rows"]
            if source not in rows or target not in rows:
                raise ToolError("no such {theme.word}")
            rows[source] = rows[source] - amount
            rows[target] = rows[target] + amount
            return f"{{source}} {{rows[source]}}, {{target}} {{rows[target]}}"
    '''
    hint = """
        a, b, k = self.goals[0]
        return f"Afterwards {a} must hold {self.state['rows'][a] - k} if it has not given yet."
    """
    solution = f"""
        told = [call("{verb}", source=a, target=b, amount=k) for a, b, k in self.goals]
        return [*told, finish("{draw.pick(("Done.", "All set.", "Ready."))}")]
    """
    return tooled(
        draw,
        name=theme.Word + draw.pick(("Transfer", "Balance", "Exchange", "Bank")),
        doc=f"Move amounts between {theme.many} as a user asks.",
        reset=reset,
        tools=[tool],
        hint=hint,
        solution=solution,
        steps=5,
        names="Task, ToolEnv, ToolError, call, finish, tool",
    )


_STAGES = (
    ("pack", "boxes", "ship", "dock"),
    ("check", "grade", "file", "drawer"),
    ("load", "pages", "post", "channel"),
    ("build", "parts", "deploy", "node"),
    ("mark", "points", "publish", "volume"),
    ("print", "copies", "mail", "street"),
)


def _flow(draw: Draw, theme: Theme) -> str:
    one, what, two, where = draw.pick(_STAGES)
    most = draw.int(40, 99)
    reset = f"""
        n = {theme.size(draw, 4, steep=False)}
        keys = self.draw_many("{draw.pick(_LETTERS)}", n)
        self.state = {{"{one}": {{}}, "{two}": {{}}, "keys": keys}}
        self.goals = [(c, self.draw_int(2, {most}), self.draw_int(1, {draw.int(20, 60)})) for c in self.draw_many(keys, 1 + self.level)]
        self.tasks = []
        for c, k, i in self.goals:
            self.tasks.append(Task(f"{one.capitalize()} {{c}} with {{k}} {what}.", done=lambda s, c=c, k=k: s["{one}"].get(c) == k))
            self.tasks.append(Task(f"Now {two} {{c}} to {where} {{i}}.", done=lambda s, c=c, i=i: s["{two}"].get(c) == i))
        return self.begin(f"{theme.Many}: {{', '.join(keys)}}.")
    """
    tools = [
        f'''
        @tool
        def {one}(self, item: str, {what}: int) -> str:
            """{one.capitalize()} {theme.one} with a number of {what}."""
            if item not in self.state["keys"]:
                raise ToolError("no such {theme.word}")
            self.state["{one}"][item] = {what}
            return "{draw.pick(("done", "ok", "ready"))}"
        ''',
        f'''
        @tool
        def {two}(self, item: str, {where}: int) -> str:
            """{two.capitalize()} {theme.one} to a {where}."""
            if item not in self.state["{one}"]:
                raise ToolError("{one} it first")
            self.state["{two}"][item] = {where}
            return "{draw.pick(("done", "ok", "on its way"))}"
        ''',
    ]
    hint = f"""
        c, k, i = self.goals[0]
        return f"{{c}} goes to {where} {{i}} once it has its {what}."
    """
    solution = f"""
        told = []
        for c, k, i in self.goals:
            told += [call("{one}", item=c, {what}=k), call("{two}", item=c, {where}=i)]
        return [*told, finish("{draw.pick(("Done.", "All set.", "Ready."))}")]
    """
    return tooled(
        draw,
        name=theme.Word + draw.pick(("Flow", "Line", "Dispatch", "Process")),
        doc=f"Take {theme.many} through two stages.",
        reset=reset,
        tools=tools,
        hint=hint,
        solution=solution,
        steps=9,
        names="Task, ToolEnv, ToolError, call, finish, tool",
    )


TOOLS_WRITE = (
    Family("stock", "tool", (Skill.STATE_MODIFICATION,), ("mappings", "numbers", "types"), _stock),
    Family(
        "transfer",
        "tool",
        (Skill.STATE_MODIFICATION, Skill.MULTI_STEP_WORKFLOWS),
        ("lists", "files"),
        _moves,
    ),
    Family("flow", "tool", (Skill.MULTI_STEP_WORKFLOWS,), ("control", "functions"), _flow),
)
