"""Tool use that reads: retrieval, chained look-ups, the right tool, and errors to recover from."""

# ruff: noqa: E501  lines of the programs, which must come out as they stand

from __future__ import annotations

from spade_envs.types import Skill
from spade_train.nano.families.form import Draw, Family, Theme, tooled

_LETTERS = ("ABCDEFGHJKLMNPQR", "CDFGHKLMNPQRSTVX", "KLMNPQRSTUVWXYZ")
_FIELDS = ("size", "cost", "weight", "rank", "count", "age", "score", "length")
_READERS = ("get", "read", "find", "fetch", "look_up", "show")


def _retrieve(draw: Draw, theme: Theme) -> str:
    get, field = draw.pick(_READERS), draw.pick(_FIELDS)
    say, code = draw.pick(
        (
            ("the {f} of {a} plus that of {b}", "x + y"),
            ("{k} times the {f} of {a} plus the {f} of {b}", "x * k + y"),
            ("the {f} of {a} times the {f} of {b}", "x * y"),
            ("the sum of both, {a} and {b}, in {f}, times {k}", "(x + y) * k"),
        )
    )
    say, code = (part.replace("{f}", field) for part in (say, code))
    reset = f"""
        n = {theme.size(draw, 5, steep=False)}
        keys = self.draw_many("{draw.pick(_LETTERS)}", n)
        rows = {{c: self.draw_int({draw.int(2, 20)}, {draw.int(60, 900)}) for c in keys}}
        self.state = {{"rows": rows}}
        self.tasks = []
        self.asked = [self.draw_many(keys, 2) for _ in range(1 + self.level // {draw.pick((1, 2))})]
        k, self.sums = {draw.int(2, 9)}, []
        for a, b in self.asked:
            x, y = rows[a], rows[b]
            self.sums.append(str({code}))
            self.tasks.append(Task(f"What is {say}?", answer=self.sums[-1]))
        return self.begin(f"You keep {{n}} {theme.many}: {{', '.join(keys)}}.")
    """
    tool = f'''
        @tool
        def {get}(self, item: str) -> str:
            """Return the {field} of one {theme.word}."""
            if item not in self.state["rows"]:
                raise ToolError("no such {theme.word}")
            return str(self.state["rows"][item])
    '''
    hint = f"""
        a, b = self.asked[0]
        return f"Call {get} for {{a}} and for {{b}} first; {{a}} has {{self.state['rows'][a]}}."
    """
    solution = f"""
        told = []
        for (a, b), want in zip(self.asked, self.sums):
            told += [call("{get}", item=a), call("{get}", item=b), finish(want)]
        return told
    """
    return tooled(
        draw,
        name=theme.Word + draw.pick(("Desk", "Archive", "Index", "Shelf")),
        doc=f"Look up {theme.many} and compute with what they hold.",
        reset=reset,
        tools=[tool],
        hint=hint,
        solution=solution,
        steps=12,
        names="Task, ToolEnv, ToolError, call, finish, tool",
    )


def _chain(draw: Draw, theme: Theme) -> str:
    first = draw.pick(("owner", "parent", "keeper", "author"))
    field = draw.pick(_FIELDS)
    get, ask = draw.pick((("get", "see"), ("read", "look"), ("find", "check"), ("fetch", "query")))
    number = draw.int(2, 9)
    tail, word = draw.pick(
        (("", ""), (f" + {number}", f" plus {number}"), (f" * {number}", f" times {number}"))
    )
    reset = f"""
        n = {theme.size(draw, 4, steep=False)}
        keys = self.draw_many("{draw.pick(_LETTERS)}", n)
        ids = [self.draw_int({draw.int(100, 300)}, {draw.int(700, 999)}) for _ in keys]
        vals = {{i: self.draw_int({draw.int(2, 20)}, {draw.int(90, 900)}) for i in ids}}
        self.state = {{"links": dict(zip(keys, ids)), "rows": vals}}
        self.asked = self.draw_many(keys, 1 + self.level)
        self.tasks = [Task(f"Tell me the {field} of the {first} of {{c}}{word}.", answer=self.want(c)) for c in self.asked]
        return self.begin(f"{theme.Many}: {{', '.join(keys)}}. Each has one {first}.")
    """
    helper = f"""
        def want(self, c):
            return str(self.state["rows"][self.state["links"][c]]{tail})
    """
    tools = [
        f'''
        @tool
        def {get}_link(self, item: str) -> str:
            """Return the number of the {first} of {theme.one}."""
            return str(self.state["links"].get(item, "unknown"))
        ''',
        f'''
        @tool
        def {ask}_row(self, number: int) -> str:
            """Return the {field} of {draw.pick(("the", "one"))} {first} by its number."""
            return str(self.state["rows"].get(number, "unknown"))
        ''',
    ]
    hint = f"""
        c = self.asked[0]
        return f"{{c}} has {first} number {{self.state['links'][c]}}; pass that to {ask}_row."
    """
    solution = f"""
        told = []
        for c in self.asked:
            i = self.state["links"][c]
            told += [call("{get}_link", item=c), call("{ask}_row", number=i)]
            told.append(finish(self.want(c)))
        return told
    """
    return tooled(
        draw,
        name=theme.Word + draw.pick(("Registry", "Service", "Directory", "Office")),
        doc=f"Go from {theme.one} to its {first} and on to a number.",
        reset=reset,
        helper=helper,
        tools=tools,
        hint=hint,
        solution=solution,
        steps=12,
    )


_KINDS = (
    ("largest", "largest number among", "max({xs})"),
    ("total", "sum of the numbers of", "sum({xs})"),
    ("spread", "greatest minus least number of", "max({xs}) - min({xs})"),
    ("product", "product of the numbers of", "{xs}[0] * {xs}[-1]"),
    ("second", "second greatest number of", "sorted({xs})[-2:][0]"),
    ("gap", "distance between the first and last number of", "abs({xs}[0] - {xs}[-1])"),
)


def _choose(draw: Draw, theme: Theme) -> str:
    first, second = draw.many(_KINDS, 2)
    reset = f"""
        n = {theme.size(draw, 5, steep=False)}
        keys = self.draw_many("{draw.pick(_LETTERS)}", n)
        rows = {{c: self.draw_int({draw.int(2, 40)}, {draw.int(100, 900)}) for c in keys}}
        self.state, self.asked, self.tasks = {{"rows": rows}}, [], []
        for _ in range(1 + self.level):
            name, three = self.draw(["{first[0]}", "{second[0]}"]), self.draw_many(keys, 3)
            say = {{"{first[0]}": "{first[1]}", "{second[0]}": "{second[1]}"}}[name]
            want = self.{first[0]}(three) if name == "{first[0]}" else self.{second[0]}(three)
            self.asked.append((name, three, want))
            self.tasks.append(Task(f"What is the {{say}} {{', '.join(three)}}?", answer=want))
        return self.begin("{draw.pick((f"You measure {theme.many}.", f"You work with {theme.many}.", f"{theme.Many} have numbers."))}")
    """
    helper = """
        def pick(self, keys):
            return [self.state["rows"].get(c, 0) for c in keys[:3]] or [0]
    """
    tools = [
        f'''
        @tool
        def {name}(self, keys: list[str]) -> str:
            """Return the {words} three {theme.many}."""
            return str({code.replace("{xs}", "self.pick(keys)")})
        '''
        for name, words, code in (first, second)
    ]
    hint = """
        name, three, _ = self.asked[0]
        return f"The tool {name} fits the first question."
    """
    solution = """
        told = []
        for name, three, want in self.asked:
            told += [call(name, keys=three), finish(want)]
        return told
    """
    return tooled(
        draw,
        name=theme.Word + draw.pick(("Gauge", "Bench", "Panel", "Lab")),
        doc=f"Pick the tool that answers a question about {theme.many}.",
        reset=reset,
        helper=helper,
        tools=tools,
        hint=hint,
        solution=solution,
        steps=8,
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
    reset = f"""
        n = {theme.size(draw, 4, steep=False)}
        keys = self.draw_many("{draw.pick(_LETTERS)}", n)
        rows = {{c: self.draw_int({draw.int(2, 20)}, {draw.int(90, 900)}) for c in keys}}
        codes = {{c: self.draw_int({draw.int(100, 300)}, {draw.int(700, 999)}) for c in keys}}
        self.state = {{"rows": rows, "codes": codes, "free": []}}
        self.asked = self.draw_many(keys, 1 + self.level)
        self.tasks = [Task(f"Tell me the {field} of {{c}}.", answer=str(rows[c])) for c in self.asked]
        return self.begin(f"{theme.Many}: {{', '.join(keys)}}.")
    """
    tools = [
        f'''
        @tool
        def {get}(self, item: str) -> str:
            """Return the {field} of {theme.one}, if it is {draw.pick(("free", "usable", "ready"))}."""
            if item not in self.state["rows"]:
                raise ToolError("no such {theme.word}")
            if item not in self.state["free"]:
                i = self.state["codes"][item]
                raise ToolError(f"{mend} it with {thing} {{i}} first")
            return str(self.state["rows"][item])
        ''',
        f'''
        @tool
        def {mend}(self, item: str, {thing}: int) -> str:
            """{mend.capitalize()} {theme.one} with its {thing}."""
            if self.state["codes"].get(item) != {thing}:
                raise ToolError("wrong {thing}")
            self.state["free"].append(item)
            return "{draw.pick(("done", "ok", "it is free"))}"
        ''',
    ]
    hint = f"""
        c = self.asked[0]
        return f"The {thing} of {{c}} is {{self.state['codes'][c]}}; then {get} works."
    """
    solution = f"""
        told = []
        for c in self.asked:
            told.append(call("{mend}", item=c, {thing}=self.state["codes"][c]))
            told += [call("{get}", item=c), finish(str(self.state["rows"][c]))]
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
        steps=12,
        names="Task, ToolEnv, ToolError, call, finish, tool",
    )


TOOLS_READ = (
    Family(
        "retrieve",
        "tool",
        (Skill.DATA_RETRIEVAL,),
        ("mappings", "lists", "strings", "names"),
        _retrieve,
    ),
    Family(
        "chained",
        "tool",
        (Skill.API_ORCHESTRATION, Skill.DATA_RETRIEVAL),
        ("classes", "names"),
        _chain,
    ),
    Family("choose", "tool", (Skill.TOOL_SELECTION,), ("functions", "numbers"), _choose),
    Family(
        "retry",
        "tool",
        (Skill.ERROR_RECOVERY, Skill.API_ORCHESTRATION),
        ("errors", "files"),
        _retry,
    ),
)
