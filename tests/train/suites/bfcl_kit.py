"""A stand-in of our own making for the parts of `bfcl-eval` that single-turn categories need."""

import json

from train.suites import stubs

_CHECKER = """
from bfcl_eval.constants.enums import Language
from bfcl_eval.constants.model_config import MODEL_CONFIG_MAPPING


def ast_checker(functions, calls, truth, language, category, who):
    assert isinstance(language, Language)
    assert MODEL_CONFIG_MAPPING[who].underscore_to_dot is False
    if len(calls) != len(truth):
        return {"valid": False, "error_type": "count"}
    left = list(calls)
    for wanted in truth:
        ((name, allowed),) = wanted.items()
        found = [call for call in left if name in call and fits(call[name], allowed)]
        if not found:
            return {"valid": False, "error_type": "value"}
        left.remove(found[0])
    return {"valid": True}


def fits(given, allowed):
    for value in given.values():
        value.__len__ if value == "crash" else None
        if isinstance(value, dict):
            value["no such key"]
    if any(key not in allowed or value not in allowed[key] for key, value in given.items()):
        return False
    return all(key in given or "" in options for key, options in allowed.items())
"""
_PARSER = """
def {name}(text):
    if not text.endswith(")"):
        raise Exception("no call")
    function, _, rest = text[:-1].partition("(")
    pairs = [part.split("=") for part in rest.split(", ")]
    return [{{function: {{key: value.strip("'\\"") for key, value in pairs}}}}]
"""
_PROMPTS = """
OUTPUT_FORMAT_MAPPING = PARAM_TYPE_MAPPING = {"python": ""}
PROMPT_STYLE_TEMPLATES = {
    "classic": {
        "persona": "",
        "task": "Call functions.",
        "tool_call_no_tag": "",
        "multiturn_behavior": "",
        "available_tools": "{functions}",
    }
}
PROMPT_TEMPLATE_MAPPING = {
    "plaintext": "{persona}{task}{tool_call_format}{multiturn_behavior}{available_tools}"
}
"""


def function(name, **types):
    described = {key: {"type": kind, "description": f"The {key}."} for key, kind in types.items()}
    for schema in described.values():
        if schema["type"] in ("array", "ArrayList"):
            schema["items"] = {"type": "integer"}
    parameters = {"type": "dict", "properties": described, "required": list(types)}
    return {"name": name, "description": f"Do {name}.", "parameters": parameters}


def asked(name, text, *functions, before=()):
    said = [*before, {"role": "user", "content": text}]
    return {"id": name, "question": [said], "function": list(functions)}


_SET = function("room.set_heat", degrees="integer", room="string")
DATA = {
    "simple_python": [asked("simple_python_0", "Kitchen to 20.", _SET)],
    "simple_java": [asked("simple_java_0", "Pack 3.", function("Box.pack", items="ArrayList"))],
    "simple_javascript": [],
    "multiple": [],
    "parallel": [asked("parallel_0", "Kitchen to 20, hall to 18.", _SET)],
    "parallel_multiple": [],
    "irrelevance": [asked("irrelevance_0", "Who was Ada?", _SET)],
    "live_simple": [
        asked("live_simple_0", "20.", _SET, before=[{"role": "system", "content": "Kitchen only."}])
    ],
    "live_relevance": [
        asked(
            "live_relevance_0",
            "Warmer?",
            _SET,
            before=[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}],
        )
    ],
}
_KITCHEN = {"room.set_heat": {"degrees": [20], "room": ["kitchen", ""], "unknown": ["x", ""]}}
ANSWERS = {
    "simple_python": {"simple_python_0": [_KITCHEN]},
    "simple_java": {
        "simple_java_0": [{"Box.pack": {"items": ["new ArrayList<Object>(Arrays.asList(3))"]}}]
    },
    "parallel": {
        "parallel_0": [_KITCHEN, {"room.set_heat": {"degrees": [18], "room": ["hall"]}}],
    },
    "live_simple": {"live_simple_0": [_KITCHEN]},
}


def install(folder):
    """Write it; return the folder that goes before those of the installed packages."""
    home = stubs.install(folder, "bfcl_eval", "") / "bfcl_eval"
    parser = "model_handler/parser"
    files = {
        "constants/enums.py": (
            "from enum import Enum\nLanguage = Enum('Language', 'PYTHON JAVA JAVASCRIPT')\n"
        ),
        "constants/model_config.py": "raise RuntimeError('this module must not be imported')\n",
        "constants/default_prompts.py": _PROMPTS,
        "eval_checker/ast_eval/ast_checker.py": _CHECKER,
        f"{parser}/java_parser.py": _PARSER.format(name="parse_java_function_call"),
        f"{parser}/js_parser.py": _PARSER.format(name="parse_javascript_function_call"),
    }
    for category, rows in DATA.items():
        files[f"data/BFCL_v4_{category}.json"] = "".join(json.dumps(each) + "\n" for each in rows)
        truths = [{"id": i, "ground_truth": t} for i, t in ANSWERS.get(category, {}).items()]
        text = "".join(json.dumps(each) + "\n" for each in truths)
        files[f"data/possible_answer/BFCL_v4_{category}.json"] = text
    for name, text in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder
