"""Tools that are described wrongly, never work, hide what is needed, or leave a trace."""

import pytest

from envs.gates.subjects import judge
from envs.gates.zoo import PARCELS, SUMS
from spade_envs.api.calls import MAX_CALLS
from spade_envs.gates.tool_results import Pool, sample_calls
from spade_envs.gates.tool_schemas import tools_described
from spade_envs.gates.tools import reading_changes_nothing, tools_work
from spade_envs.gates.values import _known, tasks_open_until_done, values_can_be_found

STOCK = '''
import random

from tool_use_base_env import ToolUseBaseEnv


class StockEnv(ToolUseBaseEnv):
    """Move parts until two bins hold what they should."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        names = ["bolts", "nuts", "gears", "belts", "springs"]
        self._state = {name: rng.randint(1000, 9999) for name in names}
        self.goals = {name: rng.randint(100, 999) for name in rng.sample(names, 2)}
        one, two = self.goals
        self._message_criteria = [
            lambda s, n=name: s[n] == self.goals[n] for name in self.goals
        ]
        self._messages = [f"Set {n} to {self.goals[n]}." for n in self.goals]
        self._expected_answer = str(sum(self._state.values()) % 8999 + 1000)
        part = {"type": "string", "enum": names}
        self._tools = {
            "count": {"description": "Count one part.", "parameters": {
                "type": "object", "properties": {"part": part}, "required": ["part"]}},
            "put": {"description": "Put an amount in a bin.", "parameters": {
                "type": "object", "required": ["part", "amount"],
                "properties": {"part": part, "amount": {"type": "integer"}}}},
        }
        return f"{self._messages[0]} Then give the sum at first, modulo 8999, plus 1000.", {}

    def tool_count(self, part: str) -> str:
        return str(self._state[part])

    def tool_put(self, part: str, amount: int) -> str:
        self._state[part] = amount
        return "Stored." + self._advance_if_done()

    def solution(self):
        form = '<tool_call>{"name": "put", "arguments": {"part": "%s", "amount": %d}}</tool_call>'
        look = '<tool_call>{"name": "count", "arguments": {"part": "%s"}}</tool_call>'
        return [
            *(look % name for name in self._state),
            *(form % pair for pair in self.goals.items()),
            f"<answer>{self._expected_answer}</answer>",
        ]
'''
EXTRA = '''
    @tool
    def weigh(self, surname: str) -> str:
        """Weigh the parcel of a surname again.

        Args:
            surname: surname on the label.
        """
        BODY

    def hint(self):'''


def parcels(old, new):
    assert old in PARCELS
    return PARCELS.replace(old, new)


def with_tool(body):
    return parcels("\n    def hint(self):", EXTRA.replace("BODY", body))


@pytest.mark.parametrize("gate", [tools_described, tools_work, tasks_open_until_done,
                                  values_can_be_found, reading_changes_nothing])  # fmt: skip
@pytest.mark.parametrize("code", [PARCELS, STOCK, SUMS], ids=["ours", "published", "text"])
def test_sound_environments_pass(gate, code):
    finding = judge(code, gate)
    assert (finding.outcome, finding.message) == ("pass", finding.message)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("            surname: surname", "            name: surname", "'name', which it does not"),
        ("            street: the", "            street (int): the", "a number, but it is"),
        ("            street: the new street.\n", "", "leaves out 'street'"),
        ("            street: the new street.", "            street (str, optional): the new one.",
         "optional, but it is required"),
    ],
)  # fmt: skip
def test_a_docstring_that_contradicts_its_tool_fails(old, new, said):
    finding = judge(parcels(old, new), tools_described)
    assert finding.outcome == "fail"
    assert said in finding.message
    assert finding.message.startswith("line ")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"properties": {"part": part}, "req', '"properties": {"item": part}, "req', "'item'"),
        ('"amount": {"type": "integer"}', '"amount": {"type": "string"}', "'amount' a string"),
        ("def tool_count(", "def tool_tally(", "no method tool_count"),
        ('"required": ["part", "amount"]', '"required": ["part"]', "leaves 'amount' open"),
        ("amount: int)", "amount: int, shelf: str)", "lacks 'shelf'"),
    ],
)  # fmt: skip
def test_a_published_schema_that_contradicts_its_method_fails(old, new, said):
    assert old in STOCK
    finding = judge(STOCK.replace(old, new), tools_described)
    assert finding.outcome == "fail"
    assert said in finding.message


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (with_tool('raise ToolError("the scale is being repaired")'), "whatever it is given"),
        (with_tool('return "error: the scale is being repaired"'), "whatever it is given"),
        (with_tool('if surname not in NAMES[9:]:\n            raise ToolError("there is no such '
                   'parcel")\n        return "700"'), "even of what other tools know"),
        (parcels("if surname not in self.state:", "if surname.isupper() or surname:"),
         "not even the reference's calls"),
        (STOCK.replace("return str(self._state[part])", 'return f"error: {part} is locked"'),
         "not even the reference's calls"),
    ],
    ids=["raises", "error text", "knows nobody", "broken", "published"],
)  # fmt: skip
def test_a_tool_that_can_never_succeed_fails(code, why):
    finding = judge(code, tools_work)
    assert finding.outcome == "fail"
    assert why in finding.message
    assert finding.evidence["calls"]


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (parcels('call("find_parcel"', 'call("look_up"'), "look_up"),
        (STOCK.replace('"name": "count"', '"name": "tally"'), "tally"),
        (
            parcels('call("find_parcel"', '"<tool_call>{oops</tool_call>" + call("look_up"'),
            "look_up",
        ),
    ],
    ids=["ours", "published", "beside a call that cannot be read"],
)
def test_a_reference_that_calls_a_tool_that_is_not_there_fails(code, name):
    finding = judge(code, tools_work)
    assert finding.outcome == "fail"
    assert f"the reference calls {name!r}, which is no tool (tools: " in finding.message


HIDDEN = """
    def step(self, action):
        for item in parse_calls(action):
            if item.name == "NAME":
                return self.go_on(f"{self.code}", tool_results=RESULTS)
        return super().step(action)

    @tool
    def find_parcel"""


@pytest.mark.parametrize(
    ("name", "results", "intro", "outcome"),
    [
        ("look_up", "[]", "You run the parcel desk.", "fail"),
        ("look_up", '[{"name": "look_up", "content": "ok"}]', "You run the parcel desk.", "fail"),
        ("desk", '[{"name": "desk", "content": "ok"}]', "You run the parcel desk.", "fail"),
        ("a", "[]", "You run a parcel desk.", "fail"),
        ("street", "[]", "You run the parcel desk.", "fail"),
        ("look_up", "[]", "You run the parcel desk. `look_up` tells the code.", "pass"),
        ("look_up", "[]", "You run the parcel desk. Call look_up() first.", "pass"),
    ],
)
def test_a_tool_that_only_the_step_of_the_class_knows_is_none(name, results, intro, outcome):
    hidden = HIDDEN.replace("NAME", name).replace("RESULTS", results)
    code = parcels("\n    @tool\n    def find_parcel", hidden)
    begin = 'return self.begin("You run the parcel desk.")'
    code = code.replace(begin, f"self.code = 7\n        return self.begin({intro!r})", 1)
    first = '            call("find_parcel", surname=self.name),\n'
    code = code.replace(first, f'            call("{name}"),\n{first}', 1)
    code = code.replace("][: 3]", "][: 4]").replace("import ", "import parse_calls, ", 1)
    assert judge(code, tools_work).outcome == outcome


@pytest.mark.parametrize(("others", "outcome"), [(MAX_CALLS - 1, "fail"), (MAX_CALLS, "pass")])
def test_an_action_of_more_calls_than_run_calls_no_tool(others, outcome):
    said = f'"".join([call("find_parcel", surname="Nobody")] * {others}) + call("look_up"'
    assert judge(parcels('call("find_parcel"', said), tools_work).outcome == outcome


TALLY = """        return str(self._state[part])

    def tool_tally(self, part: str) -> str:
        return str(self._state[part])
"""


@pytest.mark.parametrize(
    ("old", "new", "called"),
    [
        (
            '        return f"{self._messages[0]}',
            "        if seed is not None and seed % 2:\n"
            '            self._tools["tally"] = self._tools.pop("count")\n'
            '        return f"{self._messages[0]}',
            '("count" if "count" in self._tools else "tally")',
        ),
        (
            "        return str(self._state[part])\n",
            '        self._tools["tally"] = self._tools["count"]\n'
            '        return f"{self._state[part]}; tally is unlocked"\n',
            '("count" if name == "bolts" else "tally")',
        ),
    ],
    ids=["by seed", "unlocked"],
)
def test_tools_of_an_episode_are_there_although_the_class_lists_others(old, new, called):
    assert old in STOCK
    code = STOCK.replace(old, new)
    body = "        return str(self._state[part])\n"
    method = TALLY if body in code else TALLY.removeprefix(body)
    code = (
        code.replace(body, method)
        if body in code
        else code.replace("\n    def tool_put", method + "\n    def tool_put")
    )
    code = code.replace(
        '{"name": "count", "arguments": {"part": "%s"}}',
        '{"name": "%s", "arguments": {"part": "%s"}}',
    )
    code = code.replace("*(look % name for", f"*(look % ({called}, name) for")
    finding = judge(code, tools_work)
    assert (finding.outcome, finding.message) == ("pass", "all 2 tools work")


def test_a_tool_that_needs_an_earlier_step_is_alive():
    body = 'if not self.state[self.name]["street"] == self.street:\n'
    body += '            raise ToolError("not before its address is right")\n        return "700"'
    assert judge(with_tool(body), tools_work).outcome == "pass"
    body = 'raise_it = surname != "Nobody"\n        if raise_it:\n'
    body += '            raise ToolError("the scale is locked")\n        return "700"'
    assert judge(with_tool(body), tools_work).outcome == "warn"


def test_a_task_that_is_met_before_it_is_asked_for_fails():
    again = 'Task("And keep it there.", done=lambda s: s[name]["street"] == street),'
    last = 'Task("How many grams'
    ask = parcels(last, f"{again}\n            {last}")
    finding = judge(ask, tasks_open_until_done)
    assert finding.outcome == "fail"
    assert "task 2 counts as done when it is asked for" in finding.message
    at_reset = STOCK.replace("s[n] == self.goals[n]", "s[n] >= self.goals[n]")
    finding = judge(at_reset, tasks_open_until_done)
    assert finding.outcome == "fail"
    assert "the first task counts as done at reset" in finding.message
    assert finding.evidence["predicates"][0]["met"] == [True, True]


def test_tasks_that_the_answer_does_not_wait_for_fail():
    code = STOCK.replace("for name in self.goals\n", "for name in [*self.goals, 'x']\n").replace(
        "s[n] ==", "s.get(n) ==").replace("== self.goals[n]", "== self.goals.get(n, 0)").replace(
        "    def solution", "    def _check_answer(self, given):\n"
        "        return given == self._expected_answer\n\n    def solution")  # fmt: skip
    finding = judge(code, tasks_open_until_done)
    assert finding.outcome == "fail"
    assert "while task 3 is still open" in finding.message


def test_a_value_that_no_tool_tells_fails():
    hidden = parcels(
        "return self.state[surname]",
        'return {k: v for k, v in self.state[surname].items() if k != "number"}',
    )
    finding = judge(hidden, values_can_be_found)
    assert finding.outcome == "fail"
    assert (finding.evidence["tool"], finding.evidence["parameter"]) == ("set_street", "number")


def test_a_value_that_only_another_tool_tells_passes():
    code = with_tool('return str(self.state.get(surname))').replace(
        "return self.state[surname]",
        'return {k: v for k, v in self.state[surname].items() if k != "number"}', 1,
    )  # fmt: skip
    assert judge(code, values_can_be_found).outcome == "pass"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('self.state[surname]["grams"] += 1', "gives another result each time"),
        ('self.looked = getattr(self, "looked", 0) + 1\n        if self.looked > 2:\n'
         "            self.state[self.name][\"number\"] = 1", "makes the reference earn"),
    ],
)  # fmt: skip
def test_a_reading_tool_that_leaves_a_trace_fails(line, said):
    body = f"        {line}\n        return self.state[surname]"
    finding = judge(parcels("        return self.state[surname]", body), reading_changes_nothing)
    assert finding.outcome == "fail"
    assert said in finding.message or "another result" in finding.message


def test_a_cost_that_is_told_is_no_trace():
    body = '        self.state[surname]["grams"] += 1\n        return self.state[surname]'
    code = parcels("        return self.state[surname]", body)
    code = code.replace("Look a parcel up by surname.", "Look a parcel up; each look costs a gram.")
    assert judge(code, reading_changes_nothing).outcome == "pass"


def test_arguments_are_drawn_from_what_was_seen_under_their_name():
    import random

    pool = Pool()
    pool.read('[{"sample": "S-17", "mass": 12}, {"sample": "S-20", "mass": 15}]')
    schema = {"function": {"name": "look", "parameters": {
        "properties": {"samples": {"type": "array", "items": {"type": "string"}},
                       "unit": {"enum": ["g", "kg"]}},
        "required": ["samples"]}}}  # fmt: skip
    rows = sample_calls(schema, pool, random.Random(0))
    assert {"samples": ["S-17"]} in rows
    assert {"samples": ["S-17", "S-20"], "unit": "g"} in rows or any(
        "S-20" in row["samples"] and row.get("unit") == "kg" for row in rows
    )
    assert pool.holds("s-20")


def secret_numbers(form="{}", says="{surname}", parameter="str", draw=0):
    """Return the parcels with a number that no tool tells, and an error that repeats what is said.

    Args:
        form: what the number looks like.
        says: what the error for an unknown surname ends with.
        parameter: type of the tool's parameter for the number.
        draw: another one gives other seeds.
    """
    number = f'"{form}".format(self.draw_int(100000, 999999))'
    found = parcels("self.draw_int(1000, 9999)", number).replace(
        "number: int", f"number: {parameter}"
    )
    hidden = '{k: v for k, v in self.state[surname].items() if k != "number"}'
    found = found.replace("return self.state[surname]", f"return {hidden}")
    told = f'f"there is no parcel for {says}"'
    found = found.replace('"there is no parcel for that surname"', told)
    if parameter != "str":
        found = found.replace('parcel["number"] == number', 'parcel["number"] == number["value"]')
        found = found.replace('number=parcel["number"]', 'number={"value": parcel["number"]}')
    # More calls after it, so that the search begins behind the one with the number as well.
    again = '            call("find_parcel", surname=self.name),\n'
    last = '            str(parcel["grams"]),\n'
    assert last in found
    found = found.replace(last, f"{again}{again}{last}").replace("][: 3]", "][: 5]")
    return f"{found}# {draw}\n"


@pytest.mark.parametrize("draw", range(3))
@pytest.mark.parametrize(
    ("form", "parameter"), [("{}", "str"), ("code {}", "str"), ("ab-{}", "str"), ("{}", "dict")]
)
def test_an_error_that_repeats_what_was_said_tells_nothing(form, parameter, draw):
    finding = judge(secret_numbers(form, parameter=parameter, draw=draw), values_can_be_found)
    assert finding.outcome == "fail", finding
    assert finding.evidence["tool"] == "set_street"


def test_an_error_that_tells_the_number_tells_it():
    says = "{surname}; known are {self.state}"
    assert judge(secret_numbers(says=says), values_can_be_found).outcome == "pass"


@pytest.mark.parametrize(
    ("planted", "told", "value", "held"),
    [
        ("PXQ", "stock: PXQ-1398", "PXQ-1398", True),
        ("PXQ", "stock: 1398-PXQ/7", "1398-PXQ/7", True),
        ("PXQ", "stock: PXQ1398", "PXQ1398", True),
        ("48211", "the code is 482113", "482113", True),
        ("PXQ", "PXQ-1398 was said", "PXQ", True),
        ("482113", "no parcel 482113 here", "482113", False),
        ("482113", "no parcel ab-482113.", "482113", True),
        ("PXQ", "no such item: 'PXQ'.", "PXQ", False),
        ("no", "no such item", "no", True),
    ],
)
def test_of_what_is_told_only_what_was_said_is_left_out(planted, told, value, held):
    pool = Pool()
    pool.plant({"item": planted})
    pool.read(told)
    assert pool.holds(value) is held


@pytest.mark.parametrize(
    ("name", "value", "known"),
    [
        ("order_id", "468-813-222", False),
        ("order_id", "77-813-222", False),  # five signs are new
        ("order_id", "77-shelf-222", True),
        ("order_id", "24-05-17", True),
        ("order_id", "17", True),
        ("order_id", "917", False),
        ("order_id", "411", True),
        ("order_id", "413", True),
        ("order_id", "414", False),
        ("note", "468-813-222", True),
        ("grams", "917", True),
        ("room_number", "917", True),  # three digits may count something
        ("room_number", "9170", False),
        ("room_number", "335", True),
        ("room_number", "31724", True),  # 412 * 77
        ("order_id", "31724", False),
        ("order_id", "9" * 5000, False),
        ("room_number", "9" * 5000, False),
        ("code", "Z5K9", False),
    ],
)
def test_ids_are_not_to_be_guessed_however_short_their_pieces_are(name, value, known):
    pool = Pool()
    pool.shown = ["shelf 412 stands at 77"]
    assert _known(pool, name, value) is known


def test_an_id_of_short_pieces_that_no_tool_tells_fails():
    number = '"{}".format(self.draw_int(100000, 999999))'
    pieces = '"-".join(str(self.draw_int(100, 999)) for _ in range(3))'
    finding = judge(secret_numbers().replace(number, pieces), values_can_be_found)
    assert finding.outcome == "fail", finding
    assert (finding.evidence["tool"], finding.evidence["parameter"]) == ("set_street", "number")


TINS = '''
from spade_envs.api import Task, ToolEnv, ToolError, call, finish, tool


class Tins(ToolEnv):
    """Add up what some shelves hold and note the number."""

    levels = 2
    max_turns = 8

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        top = 400 * 9**self.level
        self.state = {"shelves": [self.draw_int(top // 4, top) for _ in range(3)], "given": None}
        total = sum(self.state["shelves"])
        said = "Note how many tins stand on the shelves 0, 1 and 2 together."
        self.tasks = [Task(said, done=lambda s: s["given"] == total)]
        return self.begin("You keep the store of a shop.")

    @tool
    def look(self, shelf: int) -> str:
        """Tell how many tins a shelf has.

        Args:
            shelf: 0, 1 or 2.
        """
        if shelf not in (0, 1, 2):
            raise ToolError("there is no such shelf; there are 0, 1 and 2")
        return f"{self.state['shelves'][shelf]} tins"

    @tool
    def note(self, number: int) -> str:
        """Note a number of tins; another note takes the place of the first.

        Args:
            number: how many there are.
        """
        self.state["given"] = number
        return "noted"

    def hint(self):
        return "Look at each shelf and add what they hold."

    def solution(self):
        looks = [call("look", shelf=shelf) for shelf in range(3)]
        return [*looks, call("note", number=sum(self.state["shelves"])), finish()]
'''


def test_a_number_that_is_the_sum_of_what_tools_tell_can_be_found():
    assert judge(TINS, values_can_be_found).outcome == "pass"
    assert judge(TINS.replace("number", "total"), values_can_be_found).outcome == "pass"
    secret = TINS.replace('sum(self.state["shelves"])', 'self.state["secret"]')
    secret = secret.replace('"given": None', '"given": None, "secret": self.draw_int(5000, 99999)')
    assert judge(secret, values_can_be_found).outcome == "fail"
