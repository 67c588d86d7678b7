"""Small tokenizers with the chat formats of public model families, built here.

The templates are written for these tests. Each restates what the family's own template does to the
tokens of a conversation; wording of the tool preamble is ours, since no test depends on it.
"""

import functools

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from spade_train.nano.tokens import train_tokenizer

_TEXT = [
    "You are in a room.\n\nThere is a key on the table, and a door to the north.\n",
    "Answer: 42\nThe lock takes three digits. Guess 123 gave 1 right digit.\n\n\n",
    'Call a tool with {"name": "find", "arguments": {"surname": "Okafor", "page": 3}}.\n',
    "assistant\nuser\nsystem\ntool\n  indented text\n\tcode()\r\nfor i in range(10):\n    x += 1\n",
    "Thinking: first I look, then I open the door. Is that right? Yes. No. Perhaps.\n",
]

# ChatML: one turn is <|im_start|>ROLE NEWLINE TEXT <|im_end|> NEWLINE.
_TURN = "{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}"
_HEADER = "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"

# SmolLM2: a default system turn if the conversation brings none; any role is a turn; no tools.
SMOLLM2 = (
    "{% if messages[0].role != 'system' %}"
    "{{ '<|im_start|>system\\nYou help.<|im_end|>\\n' }}{% endif %}"
    "{% for m in messages %}" + _TURN + "{% endfor %}" + _HEADER
)

# Qwen3: tools are listed in the system turn; calls are JSON in <tool_call>; neighbouring tool
# results share one user turn, each in <tool_response>.
_TOOLS_LIST = (
    "{% set first = 1 if messages[0].role == 'system' else 0 %}"
    "{% if tools %}{{ '<|im_start|>system\\n' }}"
    "{% if first %}{{ messages[0].content + '\\n\\n' }}{% endif %}"
    "{{ 'Functions:\\n<tools>' }}{% for t in tools %}{{ '\\n' }}{{ t | tojson }}{% endfor %}"
    "{{ '\\n</tools>\\nCall them in <tool_call> tags.<|im_end|>\\n' }}"
    "{% elif first %}"
    "{{ '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}{% endif %}"
)
_CALLS = (
    "{% for call in m.tool_calls or [] %}"
    "{% if not loop.first or said %}{{ '\\n' }}{% endif %}"
    '{{ \'<tool_call>\\n{"name": "\' + call.function.name + \'", "arguments": \' }}'
    "{{ call.function.arguments | tojson }}{{ '}\\n</tool_call>' }}{% endfor %}"
)
_TOOL_RESULT = (
    "{% if i == 0 or messages[i - 1].role != 'tool' %}{{ '<|im_start|>user' }}{% endif %}"
    "{{ '\\n<tool_response>\\n' + m.content + '\\n</tool_response>' }}"
    "{% if loop.last or messages[i + 1].role != 'tool' %}{{ '<|im_end|>\\n' }}{% endif %}"
)
QWEN3_INSTRUCT = (
    _TOOLS_LIST + "{% for m in messages %}{% set i = loop.index0 %}"
    "{% if m.role == 'user' or (m.role == 'system' and i > 0) %}"
    + _TURN
    + "{% elif m.role == 'tool' %}"
    "" + _TOOL_RESULT + "{% elif m.role == 'assistant' %}"
    "{% set said = m.content %}{{ '<|im_start|>assistant\\n' + said }}"
    + _CALLS
    + "{{ '<|im_end|>\\n' }}"
    "{% endif %}{% endfor %}" + _HEADER
)

# Qwen3 hybrid: thinking is cut out of every assistant turn before the last message of the user
# (tool results do not count as one). After that message it stays, and the newest turn gets an empty
# block if it has none. With thinking off, the header for generation holds an empty block.
QWEN3_HYBRID = (
    _TOOLS_LIST + "{% set ns = namespace(asked=-1) %}"
    "{% for m in messages %}"
    "{% if m.role == 'user' %}{% set ns.asked = loop.index0 %}{% endif %}{% endfor %}"
    "{% for m in messages %}{% set i = loop.index0 %}"
    "{% if m.role == 'user' or (m.role == 'system' and i > 0) %}"
    + _TURN
    + "{% elif m.role == 'tool' %}"
    "" + _TOOL_RESULT + "{% elif m.role == 'assistant' %}"
    "{% set parts = m.content.split('</think>') %}"
    "{% set said = parts[-1].lstrip('\\n') if parts | length > 1 else m.content %}"
    "{% set thought = parts[0].split('<think>')[-1].strip('\\n') if parts | length > 1 else '' %}"
    "{{ '<|im_start|>assistant\\n' }}"
    "{% if i > ns.asked and (loop.last or thought) %}"
    "{{ '<think>\\n' + thought + '\\n</think>\\n\\n' }}{% endif %}"
    "{{ said }}" + _CALLS + "{{ '<|im_end|>\\n' }}"
    "{% endif %}{% endfor %}"
    + _HEADER
    + "{% if add_generation_prompt and enable_thinking is false %}"
    "{{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}"
)

# Qwen3 thinking-only: as the hybrid, but the header for generation opens the thinking.
QWEN3_THINKING = QWEN3_HYBRID.replace(
    "enable_thinking is false %}{{ '<think>\\n\\n</think>\\n\\n' }}",
    "true %}{{ '<think>\\n' }}",
)

_BEGIN = "{% for m in messages %}"
_END = "{% endfor %}" + _HEADER
UNUSABLE = {
    "numbers the turns it has": "{{ messages | length }} messages\n" + _BEGIN + _TURN + _END,
    "keeps the last message only": "{% set m = messages[-1] %}" + _TURN + _HEADER,
    "moves the first message to the end": _BEGIN + "{% if not loop.first %}" + _TURN + "{% endif %}"
    "{% endfor %}{% set m = messages[0] %}" + _TURN + _HEADER,
    "drops what the assistant said": _BEGIN
    + "{% if m.role != 'assistant' %}"
    + _TURN
    + "{% endif %}"
    + _END,
    "dates the newest turn": _BEGIN
    + "{% if loop.last %}{{ 'Today:\n' }}{% endif %}"
    + _TURN
    + _END,
    "changes the name of a speaker": _BEGIN
    + "{{ '<|im_start|>' + (m.role if loop.last else 'old') }}"
    "{{ m.content + '<|im_end|>' }}" + _END,
    "renames the agent": _BEGIN
    + "{{ '<|im_start|>' + ('aide' if m.role == 'assistant' else m.role) }}"
    + "{{ m.content + '<|im_end|>' }}"
    + _END,
    "shouts": _BEGIN + "{{ m.content | upper }}" + _END,
}

# Mistral's way with tools: the list stands before the newest message of the user.
MOVING_TOOLS = (
    _BEGIN
    + "{% if tools and m.role == 'user' and loop.last %}{{ tools | tojson }}{% endif %}"
    + _TURN
    + _END
)
NO_TOOL_ROLE = (
    "{{ tools | tojson if tools else '' }}" + _BEGIN + "{% if m.role == 'tool' %}"
    "{{ raise_exception('no tools here') }}{% endif %}" + _TURN + _END
)
OTHER_CLOSE = (
    "{{ tools | tojson if tools else '' }}"
    + _BEGIN
    + "{{ '<|im_start|>' + m.role + '\\n' + m.content }}"
    "{% if loop.last or messages[loop.index].role != 'tool' %}{{ '<|im_end|>' }}{% endif %}"
    "{{ '\\n' }}" + _END
)


def byte_pairs(
    template, *, specials=("<|endoftext|>", "<|im_start|>", "<|im_end|>"), eos="<|im_end|>"
):
    """Return a byte-level tokenizer with merges, control tokens, and tags that are plain tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=list(specials),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_TEXT * 3, trainer)
    tags = ["think", "tool_call", "tool_response"]
    tokenizer.add_tokens(
        [AddedToken(f"<{close}{tag}>", normalized=False) for tag in tags for close in ("", "/")]
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=eos,
        pad_token=eos,
        clean_up_tokenization_spaces=False,
    )
    fast.chat_template = template
    return fast


@functools.cache
def nano():
    """Return a tokenizer of the bundled model's kind, with its template."""
    return train_tokenizer(["def step(self):\n    return 1\n"] * 8, _TEXT, vocabulary=400)


@functools.cache
def tokenizer(name):
    """Return a tokenizer by the name of its format."""
    if name == "nano":
        return nano()
    if name == "plain":
        return byte_pairs(None)
    if name == "smollm2":  # the beginning of a turn is the beginning of a text, padding is the end
        fast = byte_pairs(SMOLLM2)
        fast.bos_token = "<|im_start|>"
        return fast
    template = {
        "qwen3-instruct": QWEN3_INSTRUCT,
        "qwen3-hybrid": QWEN3_HYBRID,
        "qwen3-hybrid-off": QWEN3_HYBRID,
        "qwen3-thinking": QWEN3_THINKING,
    }[name]
    return byte_pairs(template)


THINKING = {"qwen3-hybrid": True, "qwen3-hybrid-off": False}
"""The switch, by name of the format."""

FORMATS = (
    "plain",
    "nano",
    "smollm2",
    "qwen3-instruct",
    "qwen3-hybrid",
    "qwen3-hybrid-off",
    "qwen3-thinking",
)
