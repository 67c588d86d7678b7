import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spade_envs.design.parse import MAX_COMPLETION_CHARS, parse
from spade_envs.errors import ParseError

HEAD = "from spade_envs.api import TextEnv\n\n\n"


def env(name="Maze", body="    levels = 2\n"):
    return f"{HEAD}class {name}(TextEnv):\n{body}"


def fenced(code, opening="```python", closing="```"):
    return f"{opening}\n{code.rstrip()}\n{closing}"


A, B = env("Alpha"), env("Beta")
DOCSTRING = env("Nested", '    """Use:\n\n```python\nNested()\n```\nand\n```\nmore\n```\n    """\n')
TAGS = env("Tags", '    cut = """\n</think>\n"""\n    other = "<think>"\n')

TAKEN = {
    "plain": (fenced(A), A),
    "prose around": (f"Here it is:\n\n{fenced(A)}\n\nEnjoy!", A),
    "last of two": (f"{fenced(A)}\nbetter:\n{fenced(B)}", B),
    "tilde fence": (fenced(A, "~~~python", "~~~"), A),
    "long fence": (fenced(A, "`````python", "`````"), A),
    "short name": (fenced(A, "```py"), A),
    "python3": (fenced(A, "```Python3"), A),
    "attributes": (fenced(A, '```python title="a.py"'), A),
    "no language": (fenced(A, "```"), A),
    "usage afterwards": (f"{fenced(A)}\nUse it:\n{fenced('env = Alpha()')}", A),
    "other languages": (
        f"{fenced(A)}\n{fenced('class X {}', '```java')}\n{fenced('{}', '```json')}",
        A,
    ),
    "thinking": (f"<think>\nmaybe\n{fenced(B)}\n</think>\n{fenced(A)}", A),
    "thinking began in the prompt": (f"so\n{fenced(B)}\nyes</think>\n\n{fenced(A)}", A),
    "draft never closed": (f"```python\nclass Draft:\n</think>\n{fenced(A)}", A),
    "draft never closed, parses": (f"<think>```python\n{B}</think>{fenced(A)}", A),
    "two thoughts": (f"<think>a</think>\n{fenced(B)}\n<think>no</think>\n{fenced(A)}", A),
    "thinking afterwards, cut": (f"{fenced(A)}\n<think>\nlet me check\n{fenced(B)}", A),
    "other tag": (f"<Thinking>{fenced(B)}</Thinking>\n{fenced(A)}", A),
    "tags mentioned": (f"It strips `<think>` tags.\n{fenced(A)}", A),
    "tags in code": (fenced(TAGS), TAGS),
    "fences in a docstring": (fenced(DOCSTRING), DOCSTRING),
    "fences in a docstring, then another": (f"{fenced(A)}\n{fenced(DOCSTRING)}\nDone.", DOCSTRING),
    "windows": (fenced(A).replace("\n", "\r\n"), A),
    "old mac": (fenced(A).replace("\n", "\r"), A),
    "byte order mark": ("\ufeff" + fenced(A), A),
    "end tokens": (fenced(A) + "<|im_end|>\n<|endoftext|>", A),
    "end token glued on": (f"```python\n{A}```</s>", A),
    "in a list": ("1. here:\n   " + fenced(A).replace("\n", "\n   "), A),
    "complete before cut off": (f"{fenced(A)}\nor\n```python\n{B}", A),
}


@pytest.mark.parametrize("case", TAKEN, ids=str)
def test_block_that_is_taken(case):
    completion, code = TAKEN[case]
    assert parse(completion).code == code


REPAIRED = {
    "unclosed": (f"```python\n{A}", A, "closing fence"),
    "unclosed with prose": (f"```python\n{A}\nThis isn't long.\nBye.", A, "prose after"),
    "no fence": (A, A, "without a fence"),
    "no fence, prose": (f"Sure! It's here.\n{A}\nHope it's fine.", A, "prose before"),
    "constant before, prose after": (f"N = 3\n{A}\nIt is done.", f"N = 3\n{A}", "prose after"),
    "indented": (fenced("    " + A.rstrip().replace("\n", "\n    ")), A, "indentation"),
    "space that is none": (
        fenced(env(body="    a\u00a0=\u00a01\n")),
        env(body="    a = 1\n"),
        "spaces",
    ),
    "zero width": (fenced(env(body="    a = \u200b1\n")), env(body="    a = 1\n"), "spaces"),
    "tabs": (
        fenced(env(body="    a = 1\n\tb = 2\n")),
        env(body="    a = 1\n    b = 2\n"),
        "tabs",
    ),
    "import": (
        fenced("class Maze(TextEnv):\n    a = math.pi\n"),
        "from spade_envs.api import TextEnv\nimport math\nclass Maze(TextEnv):\n    a = math.pi\n",
        "missing line: import math",
    ),
    "import after docstring": (
        fenced('"""Doc."""\nfrom __future__ import annotations\nclass Maze(TextEnv): x = np.pi'),
        '"""Doc."""\nfrom __future__ import annotations\n'
        "from spade_envs.api import TextEnv\nimport numpy as np\nclass Maze(TextEnv): x = np.pi\n",
        "import numpy as np",
    ),
    "earlier block": (
        f"{fenced(A)}\n{fenced('class X:' + chr(10) + ' def ?')}",
        A,
        "took an earlier block",
    ),
    "cut off behind": (
        f"{fenced(A)}\n```python\nclass X(TextEnv):\n    def step(self, act",
        A,
        "the last one is cut off",
    ),
}


@pytest.mark.parametrize("case", REPAIRED, ids=str)
def test_repair(case):
    completion, code, note = REPAIRED[case]
    source = parse(completion)
    assert source.code == code
    assert note in "; ".join(source.repairs)


@pytest.mark.parametrize(
    ("line", "mended"),
    [
        (r'x = f"put it in \\boxed{} now"', r'x = f"put it in \\boxed{{}} now"'),
        (r'x = f"{1} as \\boxed{your answer}"', r'x = f"{1} as \\boxed{{your answer}}"'),
        ('x = f"closing } only"', 'x = f"closing }} only"'),
        ('x = f"""a\n{1}\n  {b c}\n"""', 'x = f"""a\n{1}\n  {{b c}}\n"""'),
        ("x = rf'{1:>3} {!}'", "x = rf'{1:>3} {{!}}'"),
        ("x = “a” + ‘b’", "x = \"a\" + 'b'"),
        ('d = {}\nx = (\n    f"a {1} b"\n    f"c {}"\n), {}', 'f"c {{}}"\n), {}\n'),
        ('d = {}\nx = (\n    f"a {1} b"\n    f"c {}"\n), {}', "d = {}\n"),
        ('d = {}; x = f"{}"', 'd = {}; x = f"{{}}"'),
        ('x = f"""a\n{}\n""", {}', 'x = f"""a\n{{}}\n""", {}'),
    ],
)
def test_line_repairs(line, mended):
    source = parse(fenced(HEAD + line + "\nclass Maze(TextEnv):\n    pass\n"))
    assert mended in source.code
    assert len(source.repairs) == 1


def test_sound_code_is_never_touched():
    code = env(body='    a = f"{{}} “q” {1!r:>{4}}"\n    b = "\t\u00a0"\n')
    source = parse(fenced(code))
    assert (source.code, source.repairs, source.origin) == (code, (), "<completion>")


@pytest.mark.parametrize(
    ("completion", "words"),
    [
        ("", "empty"),
        ("  \n\t", "empty"),
        ("I cannot do that.", "no Python code"),
        ("<think>\nfor ever " + fenced(A), "never leaves its thinking"),
        (fenced("x = 1"), "no Python block defines a class"),
        (fenced('{"class": 1}', "```json"), "no Python block defines a class"),
        (fenced(HEAD + "class A:\n    def f(self:\n"), "line 5"),
        (f"```python\n{A}\n    def step(self, action):\n        return (1,", "cut off"),
        (f"```python\n{A}\n    def step(self, action):", "cut off"),
        (fenced("class A: x = '\ud800'"), "surrogates not allowed"),
        (fenced("class A:\n    x = 1\0"), "null bytes"),
        (fenced("class A: x = " + "(" * 500), "nested"),
        (fenced("class A: x = " + "-" * 100_000 + "1"), "nested too deep"),
        (fenced("class A: x = " + "9" * 5000), "integer string conversion"),
        (fenced("class A: pass\n" + "#" * 300_000), "longer than 200000"),
        ("x" * (MAX_COMPLETION_CHARS + 1), "longer than 2000000"),
    ],
    ids=range(16),
)
def test_refusals(completion, words):
    with pytest.raises(ParseError, match=words):
        parse(completion)


PIECES = st.sampled_from(
    [
        *(
            "```",
            "```python",
            "~~~",
            "````",
            "\n",
            "\r\n",
            " ",
            "    ",
            "\t",
            '"""',
            "'''",
            "'",
            "\\",
        ),
        *("<think>", "</think>", "class A:", "class B(TextEnv): pass", "def f(self):", "x = 1"),
        *("f'{}'", 'f"{a b}"', "{", "}", "(", "“", "\u00a0", "\ufeff", "\0", "\ud800", "import os"),
        *("Prose isn't code.", "<|im_end|>", "# note", "return", "é", "漢", "math.pi", "lambda: 0"),
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(PIECES, st.text(max_size=5)), max_size=40).map("".join))
def test_nothing_but_a_parse_error_and_only_python_comes_out(completion):
    try:
        source = parse(completion)
    except ParseError:
        return
    tree = ast.parse(source.code)
    assert any(isinstance(node, ast.ClassDef) for node in ast.walk(tree))
    assert parse(fenced(source.code)).code.strip("\n") == source.code.strip("\n") or (
        "```" in source.code or "~~~" in source.code or "think>" in source.code
    )


HOSTILE = {
    "fences": "```\n" * 250_000,
    "openings": "```python\n" * 100_000,
    "open blocks with end tags": "```py\n</think>\n" * 70_000,
    "end tags on one line": "</think>" * 120_000,
    "thoughts on one line": "<think></think>" * 70_000,
    "thoughts": "<think>\n</think>\n" * 60_000,
    "quotes": "```py\nclass A:\n'''\n```\n" * 40_000,
    "quotes, never closed": "```py\nclass A:\n'''x\n```\n```py\n\"\"\"\n" * 30_000,
    "long fence": "`" * 1_000_000,
    "spaces": " " * 1_000_000,
    "classes": "```py\nclass A(\n```\n" * 50_000,
    "groups": "```py\nclass A: x = f'" + "{!}" * 60_000 + "'\n```",
    "groups on lines": "```py\nclass A: pass\n" + "x = f'{!}'\n" * 15_000 + "```",
    "from": "from " + "x" * 1_000_000 + "\nclass A",
    "bare lines": "class A: pass\n" + "no code here\n" * 70_000,
    "braces": "{" * 500_000 + "}" * 500_000,
    "deep": "```py\nclass A: x = " + "[" * 90 + "]" * 90 + "+x" * 60_000 + "\n```",
    "tabs": "```py\nclass A:\n" + "\tx = 1\n        y = 2\n" * 8_000 + "```",
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("case", HOSTILE, ids=str)
def test_hostile_sizes_take_bounded_work(case):
    # Quadratic work on a megabyte would run into the timeout.
    try:
        found = parse(HOSTILE[case])
    except ParseError as error:
        found = error
    assert isinstance(found, ParseError) or "class A" in found.code
