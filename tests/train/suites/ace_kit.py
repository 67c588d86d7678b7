"""A small checkout of our own making in the shape of ACEBench's agent part."""

import json
import sys

_NEVER = "raise RuntimeError('this module must not be run')\n"
_CLASSES = """
class BaseApi:
    def __init__(self):
        self.wifi = False

    def _load_scenario(self, scenario, long_context=False):
        self.wifi = scenario.get("wifi", False)

    def turn_on_wifi(self):
        self.wifi = True
        return {"status": True}


class MessageApi(BaseApi):
    def __init__(self):
        super().__init__()
        self.inbox = {1: "Hello"}
        self.drafts = 0

    def send_message(self, receiver, message):
        if not self.wifi:
            raise ValueError("no wifi")
        self.inbox[len(self.inbox) + 1] = f"{receiver}: {message}"
        return {"status": True, "id": len(self.inbox)}

    def count(self):
        return len(self.inbox)
"""
_CHECKER = """
def agent_checker(found, wanted):
    one, other = next(iter(found.values())), next(iter(wanted.values()))
    return {"valid": one == other, "error": []}
"""
_FUNCTIONS = [
    {"name": "turn_on_wifi", "parameters": {"type": "dict", "properties": {}}},
    {
        "name": "send_message",
        "parameters": {
            "type": "dict",
            "required": ["receiver", "message"],
            "properties": {"receiver": {"type": "string"}, "message": {"type": "string"}},
        },
    },
]
WIFI = "[turn_on_wifi()]"
SEND = "[send_message(receiver='Eve', message='Don\\'t go')]"
_DONE = [
    {"BaseApi": {"wifi": True}},
    {"MessageApi": {"inbox": {"1": "Hello", "2": "Eve: Don't go"}}},
]


def task(name, **raw):
    given = {
        "id": name,
        "question": "Tell Eve: Don't go",
        "initial_config": {"BaseApi": {"wifi": False}},
        "function": _FUNCTIONS,
        "involved_classes": ["BaseApi", "MessageApi"],
    }
    return given | raw


def answer(name, steps, truth=None):
    return {"id": name, "ground_truth": truth or _DONE, "mile_stone": steps}


def checkout(home, *, step_answer=None, turn_answer=None):
    """Write it; steps of the solution have the apostrophes of the real ones, unescaped."""
    loose = [WIFI, "[send_message(receiver='Eve', message='Don't go')] "]
    lines = {
        "data_agent_multi_step.json": [task("agent_multi_step_0")],
        "data_agent_multi_turn.json": [task("agent_multi_turn_0")],
        "possible_answer/data_agent_multi_step.json": [
            answer("agent_multi_step_0", step_answer or loose)
        ],
        "possible_answer/data_agent_multi_turn.json": [
            answer("agent_multi_turn_0", turn_answer or [[WIFI], loose])
        ],
    }
    agent = (
        'MULTI_TURN_AGENT_PROMPT_SYSTEM_EN = "Act."\n'
        'MULTI_TURN_AGENT_PROMPT_USER_EN = "APIs: {functions} History: {history}"\n'
    )
    saved = {"BaseApi": ["wifi"], "MessageApi": ["inbox"]}
    mapped = {"BaseApi": "ace_fake", "MessageApi": "ace_fake"}
    files = {
        "ace_fake.py": _CLASSES,
        "model_eval/checker.py": _CHECKER,
        "model_inference/apimodel_inference.py": f"{_NEVER}SAVED_CLASS = {saved}\n",
        "model_inference/multi_step/multi_step_utils.py": (
            f"{_NEVER}CLASS_FILE_PATH_MAPPING_EN = {mapped}\n"
        ),
        "model_inference/prompt_en.py": 'BASE_PROMPT_EN = " B"\nTRAVEL_PROMPT_EN = " T"\n',
        "model_inference/multi_step/APIModel_agent.py": _NEVER + agent,
        "model_inference/multi_turn/APIModel_agent.py": _NEVER + agent,
        "model_inference/multi_turn/APIModel_user.py": (
            f'{_NEVER}SYSTEM_PROMPT_BASE_EN = "You want: {{instruction}}"\n'
            'SYSTEM_PROMPT_TRAVEL_EN = "You travel: {instruction}"\n'
        ),
    }
    for name, rows in lines.items():
        files[f"data_all/data_en/{name}"] = "\n".join(json.dumps(row) for row in rows) + "\n"
    for name, text in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return home


def forget():
    """Undo what a checkout does to the modules of this process."""
    for name in list(sys.modules):
        if name.split(".")[0] in ("ace_fake", "model_eval", "model_inference"):
            del sys.modules[name]
