"""The tables of the admission policy: which modules, names and attributes a source may use."""

from __future__ import annotations

ALLOWED_MODULES = frozenset(
    {
        "__future__", "abc", "array", "base64", "binascii", "bisect", "calendar", "cmath",
        "collections", "collections.abc", "colorsys", "contextlib", "copy", "dataclasses",
        "datetime", "decimal", "difflib", "enum", "fractions", "functools", "graphlib", "hashlib",
        "heapq", "html", "ipaddress", "itertools", "json", "keyword", "math", "numbers",
        "operator", "pprint", "queue", "random", "re", "statistics", "string", "struct",
        "textwrap", "types", "typing", "unicodedata", "zlib",
        "numpy", "numpy.random", "numpy.linalg", "numpy.fft", "numpy.polynomial", "numpy.typing",
        "gymnasium", "gymnasium.spaces", "gymnasium.error", "spade_envs.api",
        "tool_use_base_env",
    }
)  # fmt: skip
"""Modules that compute only: none of them reaches files, the network or other processes."""

CLOCK_MODULES = frozenset({"time", "uuid", "secrets"})
"""Modules that are loaded, but whose answers differ from run to run."""

BANNED_NAMES = frozenset(
    {
        "eval", "exec", "compile", "open", "breakpoint", "globals", "locals", "__import__",
        "__builtins__", "__loader__", "__spec__", "exit", "quit", "copyright", "credits",
    }
)  # fmt: skip
"""Names that may not be read, even if the source binds them itself."""

BANNED_UNLESS_BOUND = frozenset({"input", "vars", "dir", "help", "memoryview"})
VARYING_UNLESS_BOUND = frozenset({"id", "hash"})

ALLOWED_DUNDER_NAMES = frozenset(
    {"__name__", "__slots__", "__all__", "__version__", "__author__", "__match_args__", "__hash__",
     "__doc__", "__debug__"}
)  # fmt: skip

_PROTOCOLS = """
init post_init repr str format bool int float index complex len iter next contains getitem setitem
delitem missing reversed call enter exit eq ne lt le gt ge hash add sub mul matmul truediv floordiv
mod divmod pow lshift rshift and or xor neg pos abs invert round trunc floor ceil radd rsub rmul
rtruediv rfloordiv rmod rpow rand ror rxor iadd isub imul itruediv ifloordiv imod ipow iand ior
ixor copy deepcopy
"""
ALLOWED_DUNDER_METHODS = frozenset(f"__{name}__" for name in _PROTOCOLS.split())
ALLOWED_DUNDER_ATTRIBUTES = ALLOWED_DUNDER_METHODS | {"__name__", "__class__", "__doc__"}

BANNED_ATTRIBUTES = frozenset(
    {
        "get_wrapper_attr", "set_wrapper_attr", "has_wrapper_attr", "ctypes", "cffi", "ctypeslib",
        "tofile", "fromfile", "memmap", "mro", "attrgetter", "methodcaller", "Formatter", "f2py",
        "ForwardRef", "get_type_hints", "CodeType", "FunctionType", "new_class", "DataSource",
    }
)  # fmt: skip
"""Attributes that are not read from any object: each was a way out of a policy like this one."""

BANNED_NUMPY = frozenset(
    {"load", "save", "savez", "savez_compressed", "savetxt", "loadtxt", "genfromtxt", "fromregex",
     "testing", "distutils", "lib", "core", "compat"}
)  # fmt: skip
UNLESS_DEFINED = frozenset({"dump"})
"""Banned attributes, unless the source defines a function of that name."""

OWN_GENERATORS = frozenset(
    {
        "Random", "Generator", "default_rng", "RandomState", "SeedSequence", "PCG64", "PCG64DXSM",
        "MT19937", "Philox", "SFC64", "BitGenerator",
    }
)  # fmt: skip
"""Ways to make a generator of one's own, which must be given a seed."""

NOW = frozenset({"now", "utcnow", "today"})

TELLTALE_TEXT = (
    "__class__", "__globals__", "__subclasses__", "__builtins__", "__import__", "__dict__",
    "__mro__", "__code__", "__getattribute__", "__reduce__", "__bases__",
)  # fmt: skip
"""Text that only serves to reach around the rules (through str.format, getattr or eval)."""
