"""Folders of small environments of which some are hostile, and a look at what a run leaves behind.

Here the attacks pass through the whole of `spade-envs check`, linter first: those that it would
refuse strike at import, which no linter prevents, and the others are plain Python.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

from hostile.arena import descendants

SHELL = '''{top}
from spade_envs.api import TextEnv, answer_of


class Count{number}(TextEnv):
    """Count to a number."""

    levels = 2
    max_turns = 3
{fields}
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.a, self.b = self.draw_int(10, 999), self.draw_int(10, 999 + 1000 * self.level)
{reset}
        return f"What is {{self.a}} + {{self.b}} + {number}? Answer in \\\\boxed{{{{}}}}.", {{}}

    def step(self, action):
{step}
        if answer_of(action) == str(self.a + self.b + {number}):
            return self.win("Right.")
        return self.go_on("No.")

    def hint(self):
{hint}
        return "Add the first two numbers, then the third."

    def solution(self):
{solution}
        return [f"\\\\boxed{{{{{{self.a + self.b + {number}}}}}}}"]
'''

FORK = "while True:\n    os.fork()"
HOSTILE: dict[str, dict[str, str]] = {
    "hang at import": {"top": "while True: pass"},
    "hang in reset": {"reset": "while True: pass"},
    "hang in step": {"step": "while True: pass"},
    "hang in hint": {"hint": "while True: pass"},
    "hang in solution": {"solution": "while True: pass"},
    "hang late": {"reset": "self.n = 0", "step": "self.n += 1\nwhile self.n > 2: pass"},
    "hang and hold on": {
        "step": "while True:\n    try:\n        while True: pass\n    except BaseException: pass"
    },
    "hang in a destructor": {"fields": "def __del__(self):\n    while True: pass"},
    "fork bomb at import": {"top": f"import os\n{FORK}"},
    "fork bomb in step": {"top": "import os", "step": FORK},
    "a subprocess at import": {"top": "import subprocess\nsubprocess.run(['sleep', '100'])"},
    "threads at import": {
        "top": "import threading, time\nfor _ in range(500):\n"
        "    threading.Thread(target=time.sleep, args=(100,)).start()"
    },
    "memory at import": {"top": "X = bytearray(1 << 34)"},
    "memory in step": {"step": "many = []\nwhile True: many.append('x' * (1 << 20))"},
    "memory that grows": {
        "reset": "self.kept = []", "step": "self.kept.append('x' * (200 << 20))"
    },
    "an endless list": {"reset": "self.all = list(iter(int, 1))"},
    "os._exit at import": {"top": "import os\nos._exit(0)"},
    "sys.exit at import": {"top": "import sys\nsys.exit(0)"},
    "SystemExit in step": {"step": "raise SystemExit(0)"},
    "KeyboardInterrupt in reset": {"reset": "raise KeyboardInterrupt"},
    "a huge observation": {"step": "return self.go_on('x' * (1 << 26))"},
    "a huge info": {"step": "return 'x', 0.0, False, False, {n: 'x' * 999 for n in range(10**5)}"},
    "deep recursion": {"step": "def deep(n): return deep(n + 1)\ndeep(0)"},
    "deep nesting": {"step": "x = []\nfor _ in range(10**6): x = [x]\nreturn 'x', 0.0, x, x, {}"},
    "a big power": {"step": "x = 9 ** 9 ** 8"},
    "a slow pattern": {"top": "import re", "step": "re.match(r'(a+)+$', 'a' * 40 + 'b')"},
    "kills its parent": {"top": "import os\nos.kill(os.getppid(), 9)"},
    "kills its group": {"top": "import os\nos.killpg(0, 9)"},
    "garbage on the channel": {"top": "import os\nos.write(3, b'\\xff' * 100_000)"},
    "closes everything": {"top": "import os\nos.closerange(0, 100)"},
    "a parser bomb": {"top": "x = " + "(" * 5000 + ")" * 5000},
    "a slow step": {"step": "for _ in range(4 * 10**7): pass"},
}  # fmt: skip


def source(number: int, places: dict[str, str] | None = None) -> str:
    """Return one environment, with code put into some of its places."""
    found = {"top": "", "fields": "", "reset": "pass", "step": "pass", "hint": "pass"}
    found |= {"solution": "pass", **(places or {})}
    depth = {"top": 0, "fields": 4}
    indented = {key: textwrap.indent(code, " " * depth.get(key, 8)) for key, code in found.items()}
    return SHELL.format(number=number, **indented)


def fill(folder: Path, *, sound: int, hostile: int) -> list[Path]:
    """Write files into a folder and return those that are hostile; they lie among the others."""
    names = list(HOSTILE)[:hostile]
    every = sound + len(names)
    bad = {round((place + 0.5) * every / len(names)): name for place, name in enumerate(names)}
    paths = []
    for number in range(every):
        path = folder / f"env_{number:03}.py"
        path.write_text(source(number, HOSTILE[bad[number]] if number in bad else None))
        paths += [path] if number in bad else []
    return paths


@contextlib.contextmanager
def orphans() -> Iterator[list[int]]:
    """Adopt what a child leaves; the list holds what still lives 3 seconds after the block."""
    prctl, adopt = ctypes.CDLL(None).prctl, 36
    before = set(descendants(os.getpid()))
    left: list[int] = []
    prctl(adopt, 1, 0, 0, 0)
    try:
        yield left
        end = time.monotonic() + 3
        while (now := set(descendants(os.getpid())) - before) and time.monotonic() < end:
            time.sleep(0.05)
        left += sorted(now)
    finally:
        prctl(adopt, 0, 0, 0, 0)
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, 9)
