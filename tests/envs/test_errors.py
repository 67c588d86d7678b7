import inspect
import pickle

import pytest

from spade_envs import errors
from spade_envs.types import Fault

CLASSES = [
    value
    for value in vars(errors).values()
    if inspect.isclass(value) and issubclass(value, errors.SpadeError)
]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_error_is_drawn_in_the_tree_and_survives_pickling(cls):
    assert cls.__name__ in errors.__doc__
    arguments = {
        errors.MissingExtra: ("openai", "client"),
        errors.EnvironmentFault: (Fault(kind="timeout", op="step", message="2 s"),),
    }.get(cls, ("what went wrong",))
    again = pickle.loads(pickle.dumps(cls(*arguments)))
    assert type(again) is cls
    assert again.args == arguments
    assert str(again) == str(cls(*arguments))


def test_messages_name_the_mend():
    assert str(errors.MissingExtra("openai", "client")).endswith("pip install 'spade-envs[client]'")
    fault = Fault(kind="timeout", op="step", message="no reply in 2 s")
    assert str(errors.EnvironmentFault(fault)) == (
        "environment fault (timeout in step): no reply in 2 s"
    )
