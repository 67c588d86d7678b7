"""First weights that can look things up: heads that see earlier tokens and heads that match them.

Training alone finds such heads only after some thousands of steps; set by hand they are there from
the first step, and training sharpens or drops them. Each token's vector has a constant, a part that
says which token it is, and two parts in which the first layer writes which token stood one and two
places before. The second layer attends to where the present token was seen before and brings what
followed it.
"""

from __future__ import annotations

import math
from typing import Any

from spade_train.nano.model import need_torch

_WIDTH = 32
"""Numbers per head."""
_CONSTANT, _NAME, _BEFORE = 0, slice(1, 72), ((72, 32), (104, 24))
_SCALE = 0.02
_FAST, _SLOW = range(8), (*range(8, 16), *range(24, 32))
"""Places of a head whose rotary phase tells near tokens apart, and such as hardly turn."""


def set_lookups(model: Any, seed: int) -> None:
    """Overwrite the first weights of a new model of `SHAPE` in place."""
    torch = need_torch()
    with torch.no_grad():
        noise = torch.Generator().manual_seed(seed)
        embedding = model.model.embed_tokens.weight
        names = embedding[:, _NAME]
        names *= _SCALE * names.shape[1] ** 0.5 / names.norm(dim=1, keepdim=True).clamp(min=1e-9)
        embedding[:, _NAME.stop :] = 0.0
        embedding[:, _CONSTANT] = 3 * _SCALE
        for layer in model.model.layers:
            layer.self_attn.o_proj.weight.mul_(0.25)
            layer.mlp.down_proj.weight.mul_(0.25)
        first, second = (layer.self_attn for layer in model.model.layers[:2])
        codes = [_orthogonal(torch, 32, noise) for _ in range(2)]
        for head, distance in ((0, 1), (1, 2)):
            begin, size = _BEFORE[distance - 1]
            _look_back(first, head, distance, model.config.rope_parameters["rope_theta"])
            rows = slice(head * _WIDTH, (head + 1) * _WIDTH)
            first.v_proj.weight[rows] = 0.0
            first.v_proj.weight[rows, _NAME] = codes[distance - 1]
            first.o_proj.weight[:, rows] = 0.0
            for place in range(size):
                first.o_proj.weight[begin + place, head * _WIDTH + place] = 0.8 * _SCALE
        carried = _orthogonal(torch, 64, noise)
        for head, (which, offset, part) in enumerate(((0, 0, 0), (0, 16, 1), (1, 0, 0))):
            begin = _BEFORE[which][0] + offset
            _match(second, head, codes[which][offset : offset + 16], begin)
            rows = slice(head * _WIDTH, (head + 1) * _WIDTH)
            brought = carried[part * _WIDTH : (part + 1) * _WIDTH]
            second.v_proj.weight[rows] = 0.0
            second.v_proj.weight[rows, _NAME] = brought
            second.o_proj.weight[:, rows] = 0.0
            second.o_proj.weight[_NAME, rows] = 2.5 * _SCALE * brought.T


def _orthogonal(torch: Any, rows: int, noise: Any) -> Any:
    width = _NAME.stop - _NAME.start
    return torch.linalg.qr(torch.randn(width, rows, generator=noise))[0].T


def _look_back(attention: Any, head: int, distance: int, theta: float) -> None:
    """Let a head attend to the token `distance` places before, whatever it is."""
    for weight in (attention.q_proj.weight, attention.k_proj.weight):
        weight[head * _WIDTH : (head + 1) * _WIDTH] = 0.0
    half = _WIDTH // 2
    for place in _FAST:
        turn = distance * theta ** (-place / half)
        row = head * _WIDTH + place
        attention.q_proj.weight[row, _CONSTANT] = 2.0
        attention.k_proj.weight[row, _CONSTANT] = 2.0 * math.cos(turn)
        attention.k_proj.weight[row + half, _CONSTANT] = 2.0 * math.sin(turn)


def _match(attention: Any, head: int, code: Any, begin: int) -> None:
    """Let a head attend to where the present token's `code` is noted at `begin`."""
    for weight in (attention.q_proj.weight, attention.k_proj.weight):
        weight[head * _WIDTH : (head + 1) * _WIDTH] = 0.0
    for number, place in enumerate(_SLOW):
        row = head * _WIDTH + place
        attention.q_proj.weight[row, _NAME] = 4.0 * code[number]
        attention.k_proj.weight[row, begin + number] = 1.0
