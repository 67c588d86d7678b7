"""Attacks on resources and on the life of the process."""

from hostile.arena import Attack

MEMORY = [
    Attack("a huge string", 'text = "x" * (1 << 34)', expect="memory"),
    Attack("a growing list",
           "many = []\nwhile True: many.append(bytearray(1 << 20))", expect="memory"),
    Attack("a huge array", "import numpy as np; np.zeros(1 << 33)", expect="memory"),
    Attack("memory at load", top="X = bytearray(1 << 33)", expect="memory", op="load"),
    Attack("deep recursion", "def deep(n): return deep(n + 1)\ndeep(0)", expect="exception"),
    Attack("deep recursion in C", """
        sys.setrecursionlimit(10**9)
        nested = []
        for _ in range(10**6):
            nested = [nested]
        repr(nested)
    """),
    Attack("a billion laughs", """
        text = "ha" * 1000
        for _ in range(30):
            text = text * 30
    """, expect="memory"),
]  # fmt: skip

TIME = [
    Attack("endless loop", "while True: pass", expect="timeout"),
    Attack("endless sleep", "import time; time.sleep(1000)", expect="timeout"),
    Attack("a slow pattern", 'import re; re.match(r"(a+)+$", "a" * 40 + "b")', expect="timeout"),
    Attack("a big power", "x = 9 ** 9 ** 8", expect="timeout"),
    Attack("endless sum in C", "import itertools; sum(itertools.count())", expect="timeout"),
    Attack("ignored signals", """
        import signal
        for number in range(1, 65):
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                pass
        while True: pass
    """, expect="timeout"),
    Attack("caught everything", """
        while True:
            try:
                while True: pass
            except BaseException:
                pass
    """, expect="timeout"),
    Attack("hang at import", top="while True: pass", expect="timeout", op="load"),
    Attack("hang in reset", reset="while True: pass", expect="timeout", op="reset"),
    Attack("hang in hint", hint="while True: pass", expect="timeout", op="hint"),
    Attack("hang while closing", fields="""
        def __del__(self):
            while True: pass
    """),
    Attack("hang in a destructor", """
        class Sticky:
            def __del__(self):
                while True: pass
        Sticky()
    """, expect="timeout"),
    Attack("read the channel dry",
           "import posix\nwhile posix.read(3, 4096): pass", expect="timeout"),
    Attack("slow trickle of bytes", """
        import time
        while True:
            frame_out(b"\\x01")
            time.sleep(0.05)
    """),
]  # fmt: skip

ENDS = [
    Attack("sys.exit", "sys.exit(0)", expect="exception"),
    Attack("os._exit", "import posix; posix._exit(0)", expect="crash"),
    Attack("exit at load", top="import posix; posix._exit(0)", expect="crash", op="load"),
    Attack("exit in reset", reset="import posix; posix._exit(0)", expect="crash", op="reset"),
    Attack("abort", "import posix; posix.abort()", expect="crash"),
    Attack("segmentation fault", "ctypes, _ = libc(); ctypes.string_at(8)", expect="crash"),
    Attack("write to wild memory", """
        import numpy as np
        ctypes, _ = libc()
        state = np.random.PCG64(1).ctypes.state
        ctypes.memset(16, 0, 64)
    """, expect="crash"),
    Attack("bad bytecode", """
        def f(): pass
        f.__code__ = f.__code__.replace(co_code=b"\\x64\\xff" * 4, co_stacksize=0)
        f()
    """),
    Attack("close the channel", "import posix; posix.close(3)", expect="crash"),
    Attack("shut standard output", "import posix; posix.close(1); print('x')"),
    Attack("an exit function", """
        import atexit
        atexit.register(lambda: open("<folder>/at-exit", "w"))
        sys.exit(1)
    """, expect="exception"),
    Attack("raise KeyboardInterrupt", "raise KeyboardInterrupt", expect="exception"),
    Attack("raise GeneratorExit", "raise GeneratorExit", expect="exception"),
    Attack("an error without text", """
        class Mute(Exception):
            def __str__(self): raise self
        raise Mute
    """, expect="exception"),
    Attack("an error with a huge text", 'raise ValueError("x" * 10**7)', expect="exception"),
    Attack("stop the loop from within", "raise StopIteration", expect="exception"),
]  # fmt: skip

OUTPUT = [
    Attack("flood of output", 'for _ in range(200): print("x" * 100_000)'),
    Attack("flood of errors", 'for _ in range(200): sys.stderr.write("x" * 100_000)'),
    Attack(
        "output by descriptor", 'import posix\nfor _ in range(99): posix.write(1, b"x" * 99999)'
    ),
    Attack("warnings", 'import warnings\nfor i in range(9999): warnings.warn(f"w{i}")'),
]

RESOURCES = MEMORY + TIME + ENDS + OUTPUT
