"""Run a source under the relaxed policy: guarded attributes, few builtins, read-only modules.

Only for the comparison of a restricted with a plain run inside a worker. Three known ways lead
around it; that is why the worker is the boundary.
"""

from __future__ import annotations

import ast
import builtins
import string
import sys
from types import CodeType, ModuleType
from typing import Any

from RestrictedPython.transformer import INSPECT_ATTRIBUTES

from spade_envs.sandbox import names
from spade_envs.sandbox.relaxed import GETATTR, RelaxedTransformer

_WITHOUT = names.BANNED_NAMES | {"input", "vars", "dir", "help", "memoryview"}


class Refused(Exception):
    """Raised where the policy stops a source."""


def compile_restricted(code: str, filename: str) -> CodeType:
    """Compile under the relaxed policy.

    Raises:
        SyntaxError: the policy does not admit the source; the first line that it refuses.
    """
    tree = ast.parse(code, filename)
    transformer = RelaxedTransformer()
    tree = transformer.visit(tree)
    if transformer.found:
        line, message = transformer.found[0]
        raise SyntaxError(message, (filename, line, 0, ""))
    return compile(ast.fix_missing_locations(tree), filename, "exec", dont_inherit=True)


def guards() -> dict[str, Any]:
    """Return the globals with which compiled code runs."""
    allowed = {name: value for name, value in vars(builtins).items() if name not in _WITHOUT}
    allowed.update(
        __import__=_import,
        getattr=_getattr,
        hasattr=_hasattr,
        print=lambda *_, **__: None,
    )
    return {"__builtins__": allowed, GETATTR: _getattr}


class _Facade:
    """A module that can be read, without its private names and without other modules."""

    __slots__ = ("_module",)

    def __init__(self, module: ModuleType) -> None:
        object.__setattr__(self, "_module", module)

    def __getattr__(self, name: str) -> Any:
        module: ModuleType = object.__getattribute__(self, "_module")
        if name.startswith("_") and name not in ("__name__", "__doc__", "__version__", "__all__"):
            raise AttributeError(f"{module.__name__}.{name} is private")
        value = getattr(module, name)
        if isinstance(value, ModuleType):
            return _facade(value.__name__)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        raise Refused(f"{self._module.__name__}.{name} belongs to the whole process")

    def __delattr__(self, name: str) -> None:
        raise Refused(f"{self._module.__name__}.{name} belongs to the whole process")


def _facade(name: str) -> Any:
    if name == "__future__":
        return sys.modules[name]
    if name not in names.ALLOWED_MODULES | names.CLOCK_MODULES:
        raise Refused(f"module {name} is not allowed")
    return _Facade(sys.modules[name])


def _import(
    name: str,
    globals_: Any = None,
    locals_: Any = None,
    fromlist: Any = (),
    level: int = 0,
) -> Any:
    if type(fromlist) is list and name in sys.modules:
        return sys.modules[name]  # C code imports so, with the globals of whoever called it
    if level or name not in names.ALLOWED_MODULES | names.CLOCK_MODULES:
        raise ImportError(f"import of {name} is not allowed")
    if fromlist or "." not in name:
        return _facade(name)
    return _Facade(sys.modules[name.split(".")[0]])


def _getattr(owner: Any, name: str, *default: Any) -> Any:
    if not isinstance(name, str):
        raise TypeError("attribute name must be a str")
    dunder = name.startswith("__") and name.endswith("__")
    if (
        (dunder and name not in names.ALLOWED_DUNDER_ATTRIBUTES)
        or name in INSPECT_ATTRIBUTES
        or name in names.BANNED_ATTRIBUTES
    ):
        raise Refused(f"attribute {name} is not allowed")
    if name in ("format", "format_map") and isinstance(owner, str):
        return _format(owner, name)
    return getattr(owner, name, *default)


def _hasattr(owner: Any, name: str) -> bool:
    try:
        _getattr(owner, name)
    except (AttributeError, Refused):
        return False
    return True


class _Formatter(string.Formatter):
    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        if "_" in field_name and "__" in field_name:
            raise Refused(f"the format field {field_name} is not allowed")
        return super().get_field(field_name, args, kwargs)


def _format(text: str, name: str) -> Any:
    formatter = _Formatter()
    if name == "format_map":
        return lambda mapping: formatter.vformat(text, (), mapping)
    return lambda *args, **kwargs: formatter.vformat(text, args, kwargs)
