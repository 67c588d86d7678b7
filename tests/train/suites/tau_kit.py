"""A stand-in of our own making for the parts of tau2 that a session uses: a shop with one order."""

import sys
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace


@dataclass
class Said:
    role: str
    content: str | None = None
    tool_calls: list | None = None


@dataclass
class Called:
    id: str
    name: str
    arguments: dict
    requestor: str


@dataclass
class Shop:
    """Orders can be cancelled by the agent, and the phone restarted by the user."""

    cancelled: list = field(default_factory=list)
    restarts: int = 0

    def set_state(self, data, actions, history):
        assert history == []

    def get_response(self, called):
        allowed = {"assistant": ("cancel", "calculate"), "user": ("restart",)}[called.requestor]
        if called.name not in allowed:
            return SimpleNamespace(content=f"Error: Tool '{called.name}' not found.", error=True)
        if called.name == "restart":
            self.restarts += 1
            return SimpleNamespace(content="restarted", error=False)
        self.cancelled.append(called.arguments)
        return SimpleNamespace(content='{"status": "cancelled"}', error=False)


class Stage:
    prompt = "You serve."
    functions = [
        {"name": "cancel", "parameters": {"required": ["order"], "properties": {"order": {}}}}
    ]
    user_functions = [{"name": "restart", "description": "Turn the phone off and on.\nLong."}]

    def environment(self, solo_mode=False):
        return Shop()


def task(*, actions=(), told=(), basis=("DB",)):
    criteria = SimpleNamespace(
        actions=[
            SimpleNamespace(name=name, arguments=arguments, requestor=who)
            for who, name, arguments in actions
        ],
        communicate_info=list(told),
        reward_basis=[SimpleNamespace(value=each) for each in basis],
    )
    return SimpleNamespace(initial_state=None, evaluation_criteria=criteria)


def install(monkeypatch):
    """Put the stand-in where the package would be."""

    class EnvironmentEvaluator:
        @staticmethod
        def calculate_reward(environment, task, played):
            spoken = [each for each in played if isinstance(each, Said)]
            calls = [called for each in spoken for called in each.tool_calls or []]
            wanted = [(a.name, a.arguments) for a in task.evaluation_criteria.actions]
            same = sorted(map(str, wanted)) == sorted(str((c.name, c.arguments)) for c in calls)
            check = SimpleNamespace(db_reward=float(same))
            return SimpleNamespace(db_check=check, env_assertions=None)

    class ActionEvaluator:
        @staticmethod
        def calculate_reward(task, played):
            return SimpleNamespace(reward=1.0)

    class CommunicateEvaluator:
        @staticmethod
        def calculate_reward(task, played):
            spoken = [each for each in played if isinstance(each, Said)]
            said = " ".join(each.content or "" for each in spoken if each.role == "assistant")
            wanted = task.evaluation_criteria.communicate_info
            return SimpleNamespace(reward=float(all(each in said for each in wanted)))

    made = {
        "tau2": {},
        "tau2.data_model": {},
        "tau2.data_model.message": {
            "AssistantMessage": Said,
            "UserMessage": Said,
            "ToolCall": Called,
        },
        "tau2.evaluator": {},
        "tau2.evaluator.evaluator_env": {"EnvironmentEvaluator": EnvironmentEvaluator},
        "tau2.evaluator.evaluator_action": {"ActionEvaluator": ActionEvaluator},
        "tau2.evaluator.evaluator_communicate": {"CommunicateEvaluator": CommunicateEvaluator},
    }
    for name, values in made.items():
        module = ModuleType(name)
        vars(module).update(values)
        monkeypatch.setitem(sys.modules, name, module)
