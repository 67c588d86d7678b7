"""Tool use that reads: retrieval, chained look-ups, the right tool, and errors to recover from."""

# ruff: noqa: E501  lines of the programs, which must come out as they stand

from __future__ import annotations

from spade_envs.types import Skill
from spade_train.nano.families.form import Draw, Family, Theme, tooled

LETTERS = ("ABCDEFGHJKLMNPQR", "CDFGHKLMNPQRSTVX", "KLMNPQRSTUVWXYZ")
_FIELDS = ("size", "cost", "weight", "rank", "count", "age", "score", "length")
_READERS = ("get", "read", "find", "fetch", "show")


def _retrieve(draw: Draw, theme: Theme) -> str:
    get, field = draw.pick(_READERS), draw.pick(_FIELDS)
    size = theme.size(draw, 1, 3)
    reset = f"""
        keys = self.draw_many("{draw.pick(LETTERS)}", 2 * ({size} + self.level))
        rows = {{c: self.draw_int({draw.int(100, 300)}, {draw.int(700, 999)}) for c in keys}}
        self.state, self.tasks = {{"rows": rows}}, []
        self.asked = list(zip(keys[::2], keys[1::2]))
        for a, b in self.asked:
            self.tasks.append(Task(f"Tell the {field} of {{a}} and {{b}}, with a comma.", answer=f"{{rows[a]}},{{rows[b]}}"))
        return self.begin("{draw.pick((f"You keep {theme.many}.", f"{theme.Many} are kept here."))}")
    """
    tool = f'''
        @tool
        def {get}(self, item: str) -> str:
            """Return the {field} of one {theme.word}."""
            return str(self.state["rows"].get(item, "unknown"))
    '''
    hint = f"""
        a, b = self.asked[0]
        return f"The {field} of {{a}} is {{self.state['rows'][a]}}."
    """
    solution = f"""
        told, rows = [], self.state["rows"]
        for a, b in self.asked:
            told += [call("{get}", item=a), call("{get}", item=b)]
            told.append(finish(f"{{rows[a]}},{{rows[b]}}"))
        return told
    """
    return tooled(
        draw,
        name=theme.Word + draw.pick(("Desk", "Archive", "Index", "Shelf")),
        doc=f"Look up what {theme.many} hold.",
        reset=reset,
        tools=[tool],
        hint=hint,
        solution=solution,
        steps=3 * (size + 3),
    )


def _chain(draw: Draw, theme: Theme) -> str:
    first = draw.pick(("owner", "parent", "keeper", "author"))
    field = draw.pick(_FIELDS)
    get, ask = draw.pick((("get", "see"), ("read", "look"), ("find", "check"), ("fetch", "query")))
    size = theme.size(draw, 1, 2)
    reset = f"""
        keys = self.draw_many("{draw.pick(LETTERS)}", {size} + self.level)
        links = {{c: self.draw_int({draw.int(100, 300)}, {draw.int(700, 999)}) for c in keys}}
        rows = {{i: self.draw_int({draw.int(100, 300)}, {draw.int(700, 900)}) for i in links.values()}}
        self.state = {{"links": links, "rows": rows}}
        self.tasks = [Task(f"Tell the {field} of the {first} of {{c}}.", answer=str(rows[i])) for c, i in links.items()]
        return self.begin("{draw.pick((f"You know {theme.many}.", f"{theme.Many} have one {first} each."))}")
    """
    tools = [
        f'''
        @tool
        def {get}(self, item: str) -> str:
            """Return the number of the {first} of {theme.one}."""
            return str(self.state["links"].get(item, "unknown"))
        ''',
        f'''
        @tool
        def {ask}(self, number: int) -> str:
            """Return the {field} of one {first}."""
            return str(self.state["rows"].get(number, "unknown"))
        ''',
    ]
    hint = f"""
        c = list(self.state["links"])[0]
        return f"The {first} of {{c}} is {{self.state['links'][c]}}."
    """
    solution = f"""
        told = []
        for c, i in self.state["links"].items():
            told += [call("{get}", item=c), call("{ask}", number=i)]
            told.append(finish(str(self.state["rows"][i])))
        return told
    """
    return tooled(
        draw,
        name=theme.Word + draw.pick(("Registry", "Service", "Directory", "Office")),
        doc=f"Go from {theme.one} to its {first} and on to a number.",
        reset=reset,
        tools=tools,
        hint=hint,
        solution=solution,
        steps=3 * (size + 3),
    )


def _choose(draw: Draw, theme: Theme) -> str:
    first, second = draw.many(_FIELDS, 2)
    size = theme.size(draw, 1, 3)
    reset = f"""
        keys = self.draw_many("{draw.pick(LETTERS)}", {size} + self.level)
        self.state, self.asked, self.tasks = {{"{first}": {{}}, "{second}": {{}}}}, [], []
        for c in keys:
            for name in self.state:
                self.state[name][c] = self.draw_int({draw.int(100, 300)}, {draw.int(700, 999)})
            f, g = self.shuffled(["{first}", "{second}"])
            x, y = self.state[f][c], self.state[g][c]
            self.asked.append((f, g, c, x, y))
            self.tasks.append(Task(f"Tell the {{f}} and {{g}} of {{c}}, with a comma.", answer=f"{{x}},{{y}}"))
        return self.begin("{draw.pick((f"You measure {theme.many}.", f"{theme.Many} have numbers."))}")
    """
    tools = [
        f'''
        @tool
        def {name}(self, item: str) -> str:
            """Return the {name} of one {theme.word}."""
            return str(self.state["{name}"].get(item, "unknown"))
        '''
        for name in (first, second)
    ]
    hint = """
        f, g, c, x, y = self.asked[0]
        return f"The {f} of {c} is {x}."
    """
    solution = """
        told = []
        for f, g, c, x, y in self.asked:
            told += [call(f, item=c), call(g, item=c), finish(f"{x},{y}")]
        return told
    """
    return tooled(
        draw,
        name=theme.Word + draw.pick(("Gauge", "Bench", "Panel", "Lab")),
        doc=f"Pick the tool that tells about {theme.many}.",
        reset=reset,
        tools=tools,
        hint=hint,
        solution=solution,
        steps=3 * (size + 3),
    )


_MENDS = (
    ("unlock", "code"),
    ("renew", "ticket"),
    ("repair", "part"),
    ("open", "key"),
    ("login", "pin"),
)


def _retry(draw: Draw, theme: Theme) -> str:
    get, field = draw.pick(_READERS), draw.pick(_FIELDS)
    mend, thing = draw.pick(_MENDS)
    size = theme.size(draw, 1, 2)
    reset = f"""
        keys = self.draw_many("{draw.pick(LETTERS)}", {size} + self.level)
        rows = {{c: self.draw_int({draw.int(100, 300)}, {draw.int(700, 999)}) for c in keys}}
        codes = {{c: self.draw_int({draw.int(100, 300)}, {draw.int(700, 900)}) for c in keys}}
        self.state = {{"rows": rows, "codes": codes, "free": []}}
        self.tasks = [Task(f"Tell the {field} of {{c}}.", answer=str(rows[c])) for c in keys]
        return self.begin("{draw.pick((f"{theme.Many} may refuse.", f"You guard {theme.many}."))}")
    """
    tools = [
        f'''
        @tool
        def {get}(self, item: str) -> str:
            """Return the {field} of {theme.one}."""
            if item not in self.state["rows"]:
                raise ToolError("no such {theme.word}")
            if item not in self.state["free"]:
                raise ToolError(f"{thing} {{self.state['codes'][item]}} is needed")
            return str(self.state["rows"][item])
        ''',
        f'''
        @tool
        def {mend}(self, item: str, {thing}: int) -> str:
            """{mend.capitalize()} {theme.one}."""
            if self.state["codes"].get(item) != {thing}:
                raise ToolError("wrong {thing}")
            self.state["free"].append(item)
            return "{draw.pick(("done", "ok"))}"
        ''',
    ]
    hint = f"""
        c = list(self.state["rows"])[0]
        return f"The {thing} of {{c}} is {{self.state['codes'][c]}}."
    """
    solution = f"""
        told = []
        for c, x in self.state["rows"].items():
            i = self.state["codes"][c]
            told += [call("{get}", item=c), call("{mend}", item=c, {thing}=i)]
            told += [call("{get}", item=c), finish(str(x))]
        return told
    """
    return tooled(
        draw,
        name=theme.Word + draw.pick(("Vault", "Locks", "Guard", "Gate")),
        doc=f"Read {theme.many} that refuse at first.",
        reset=reset,
        tools=tools,
        hint=hint,
        solution=solution,
        steps=4 * (size + 3),
        names="Task, ToolEnv, ToolError, call, finish, tool",
    )


TOOLS_READ = (
    Family(
        "retrieve",
        "tool",
        (Skill.DATA_RETRIEVAL,),
        ("mappings", "lists", "strings", "names"),
        _retrieve,
        1,
    ),
    Family(
        "chained",
        "tool",
        (Skill.API_ORCHESTRATION, Skill.DATA_RETRIEVAL),
        ("classes", "names"),
        _chain,
        1,
    ),
    Family("choose", "tool", (Skill.TOOL_SELECTION,), ("functions", "numbers"), _choose, 1),
    Family(
        "retry",
        "tool",
        (Skill.ERROR_RECOVERY, Skill.API_ORCHESTRATION),
        ("errors", "files"),
        _retry,
        1,
    ),
)
