import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_envs.api import ToolCall, call, calls, finish, parse_calls
from spade_envs.api.calls import MAX_CALLS

ADD = ToolCall("add", {"a": 1})


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>',
        'I will add.\n<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>',
        '<tool_call>{"name": "add", "arguments": {"a": 1}}',
        '<tool_call>```json\n{"name": "add", "arguments": {"a": 1}}\n```</tool_call>',
        '<tool_call>{"name": "add", "arguments": "{\\"a\\": 1}"}</tool_call>',
        '{"name": "add", "arguments": {"a": 1}}',
        '{"name": "add", "parameters": {"a": 1}}',
        '[{"name": "add", "arguments": {"a": 1}}]',
        '```json\n{"name": "add", "arguments": {"a": 1}}\n```',
        '{"tool_calls": [{"id": "1", "type": "function", "function": '
        '{"name": "add", "arguments": "{\\"a\\": 1}"}}]}',
        '<think>{"name": "no"}</think>{"name": "add", "arguments": {"a": 1}}',
    ],
)
def test_each_encoding_gives_the_same_call(text):
    assert parse_calls(text) == [ADD]


def test_function_markup_holds_strings_and_says_so():
    text = "<function=add><parameter=a>\n1\n</parameter></function>"
    assert parse_calls(text) == [ToolCall("add", {"a": "1"}, loose=True)]
    assert parse_calls(f"<tool_call>{text}</tool_call>") == parse_calls(text)


@pytest.mark.parametrize(
    "text", ["", "hello", "42", "[1, 2]", '{"answer": 4}', "{not json", "[north]", finish()]
)
def test_plain_messages_hold_no_call(text):
    assert parse_calls(text) == []


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("<tool_call>{bad</tool_call>", "not valid JSON"),
        ("<tool_call>hello</tool_call>", "not valid JSON"),
        ("<tool_call>[1]</tool_call>", "not a call"),
        ('{"name": "add", "arguments": ', "not valid JSON"),
        ('{"name": "add", "arguments": [1]}', "must be a JSON object"),
        ('{"name": "add", "arguments": "{"}', "not valid JSON"),
        ("<tool_call>" + "[" * 100_000 + "</tool_call>", "not valid JSON"),
        ("<tool_call>" + "9" * 5000 + "</tool_call>", "not valid JSON"),
    ],
)
def test_a_broken_call_says_what_is_wrong(text, part):
    (found,) = parse_calls(text)
    assert part in found.error


def test_the_number_of_calls_in_one_message_is_bounded():
    many = calls(*[call("add", a=1)] * (MAX_CALLS + 1))
    assert len(parse_calls(calls(*[call("add", a=1)] * MAX_CALLS))) == MAX_CALLS
    (found,) = parse_calls(many)
    assert str(MAX_CALLS) in found.error


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(), st.lists, max_leaves=4
)


@given(st.dictionaries(st.text(), values, max_size=4))
def test_what_call_writes_parse_calls_reads(arguments):
    body = json.dumps({"name": "f", "arguments": arguments})
    if any(mark in body for mark in ("<tool_call>", "</tool_call>", "<function=", "</think>")):
        return
    assert parse_calls(f"<tool_call>{body}</tool_call>") == [ToolCall("f", arguments)]


@given(st.text(alphabet='<>{}[]"=/:, abtool_callfunctionparameter\\'))
def test_any_text_is_read_without_an_exception(text):
    assert all(isinstance(found, ToolCall) for found in parse_calls(text))
