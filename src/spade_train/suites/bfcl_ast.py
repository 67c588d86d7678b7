"""The checker of BFCL's single-turn categories: how a reply is read, judged, and written.

Replies are read by `calls` (or, for Java and JavaScript, by upstream's parsers, which run nothing)
and compared by upstream's checker as plain values. Upstream's own reading of Python calls hands
arithmetic to `eval` and is not used.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any, Literal, TypeAlias

from spade_envs.types import Json
from spade_train.suites.base import Said, Score
from spade_train.suites.calls import parse_calls
from spade_train.suites.standins import standing_in

Language: TypeAlias = Literal["python", "java", "javascript"]
Calls: TypeAlias = list[dict[str, dict[Any, Json]]]
"""Calls as upstream has them: `[{name: {parameter: value}}]`."""

_PARSERS: Mapping[Language, tuple[str, str]] = {
    "java": ("java_parser", "parse_java_function_call"),
    "javascript": ("js_parser", "parse_javascript_function_call"),
}
_CONFIG = "bfcl_eval.constants.model_config"
_WHO = "spade"
_MAX_CHARACTERS = 20_000
"""Of a reply in Java or JavaScript: some of upstream's expressions take quadratic time."""


class Checker:
    """Upstream's parsers and checker."""

    def __init__(self, languages: Sequence[Language]) -> None:
        self._check = _ast_checker().ast_checker
        self._kinds = importlib.import_module("bfcl_eval.constants.enums").Language
        self._parsers = {
            each: getattr(importlib.import_module(f"bfcl_eval.model_handler.parser.{module}"), name)
            for each, (module, name) in _PARSERS.items()
            if each in languages
        }

    def read(self, said: Said, language: Language) -> Calls | None:
        """Return the calls of a reply; None if it cannot be read as calls."""
        if language == "python":
            found = parse_calls(said, quote=True)
            if not isinstance(found, tuple) or any(call.refused for call in found):
                return None
            return [{call.name: dict(call.keywords)} for call in found]
        bare = said.strip("`\n ")
        if len(bare) > _MAX_CHARACTERS:
            return None
        bare = bare if bare.startswith("[") else "[" + bare
        bare = bare if bare.endswith("]") else bare + "]"
        try:
            calls: Calls | None = self._parsers[language](bare[1:-1])
        except Exception:  # noqa: BLE001  upstream's parsers raise bare `Exception` for bad text
            return None
        return calls if isinstance(calls, list) else None

    def score(
        self,
        said: Said,
        functions: Sequence[Mapping[str, Json]],
        truth: Sequence[Mapping[str, Json]],
        language: Language,
        category: str,
    ) -> Score:
        """Return 1 if the calls are among those that the answers allow."""
        calls = self.read(said, language)
        if calls is None:
            return _wrong("ast_decoder:decoder_failed")
        kind = self._kinds[language.upper()]
        try:
            verdict = self._check(list(functions), calls, list(truth), kind, category, _WHO)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError) as bad:
            # The checker takes values apart by the documented type: another shape is a wrong one.
            return _wrong(f"checker:{type(bad).__name__}")
        if verdict["valid"]:
            return Score(value=1.0, success=True)
        return _wrong(str(verdict.get("error_type", "")))

    def called(self, said: Said) -> bool:
        """Return whether a reply makes any call. Source: upstream's relevance check."""
        return bool(self.read(said, "python"))


def as_written(
    truth: Sequence[Mapping[str, Json]],
    functions: Sequence[Mapping[str, Json]],
    language: Language,
) -> Said:
    """Return a reply that makes the calls of an answer, with the first value allowed for each."""
    written = []
    for call in truth:
        ((name, allowed),) = call.items()
        found = next((each for each in functions if each["name"] == name), {})
        typed = (found.get("parameters") or {}).get("properties") or {}
        parts = [
            f"{key}={_literal(_first(options), typed.get(key) or {}, language)}"
            for key, options in allowed.items()
            if _first(options) is not _OMITTED and (key in typed or "" not in options)
        ]
        written.append(f"{name}({', '.join(parts)})")
    return f"[{', '.join(written)}]"


_OMITTED: Any = object()


def _first(options: Sequence[Json]) -> Json:
    """Return the first of several allowed values; an empty text stands for none."""
    found = [_chosen(each) for each in options if each != ""]
    return found[0] if found else _OMITTED


def _chosen(value: Json) -> Json:
    """Return a value with one of those that stand in it for each key of its dictionaries."""
    if isinstance(value, dict):
        picked = {
            key: _first(each) if isinstance(each, list) else each for key, each in value.items()
        }
        return {key: each for key, each in picked.items() if each is not _OMITTED}
    if isinstance(value, list):
        return [_chosen(each) for each in value]
    return value


def _literal(value: Json, schema: Mapping[str, Json], language: Language) -> str:
    if language == "python":
        return repr(value)
    kind = str(schema.get("type"))
    if language == "javascript":
        return _javascript(value, kind)
    text = _java(value, kind, str((schema.get("items") or {}).get("type")))
    return f"'{text}'" if '"' in text else f'"{text}"'


def _java(value: Json, kind: str, item: str) -> str:
    """Return Java as upstream's converter takes it: it keeps the quotes within most lists."""
    if isinstance(value, list) and kind == "ArrayList":
        form = '"{}"' if item == "String" else "{}"
        inside = ", ".join(form.format(_java(each, item, "")) for each in value)
        return f"new ArrayList<Object>(Arrays.asList({inside}))"
    if isinstance(value, list):
        return f"new Object[]{{{', '.join(_java(each, item, '') for each in value)}}}"
    if isinstance(value, dict):
        puts = (f'put("{key}", {_javascript(each, "any")});' for key, each in value.items())
        return f"new HashMap<String, Object>() {{{{ {' '.join(puts)} }}}}"
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value}{ {'long': 'L', 'float': 'f'}.get(kind, '') }"


def _javascript(value: Json, kind: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(_javascript(each, 'any') for each in value)}]"
    if isinstance(value, dict):
        inside = (f'"{key}": {_javascript(each, "any")}' for key, each in value.items())
        return f"{{{', '.join(inside)}}}"
    if isinstance(value, str):
        return f'"{value}"'
    return f"{value}n" if kind == "Bigint" else str(value)


def _wrong(error: str) -> Score:
    return Score(value=0.0, success=False, detail={"error": error})


def _ast_checker() -> ModuleType:
    """Return upstream's checker without the table of models that it imports.

    That table imports the clients of a dozen services, for one flag of the model under test:
    whether its function names had their dots taken away, which here nobody does.
    """
    model = SimpleNamespace(underscore_to_dot=False)
    with standing_in(_CONFIG, MODEL_CONFIG_MAPPING={_WHO: model}):
        return importlib.import_module("bfcl_eval.eval_checker.ast_eval.ast_checker")
