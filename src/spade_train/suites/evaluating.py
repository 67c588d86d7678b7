"""Which answers may be given to a scorer that evaluates them.

Nine scorers of Reasoning Gym hand an answer to `eval` or to `sympy.parse_expr`, which does the
same. They run in a locked worker; an answer that could do there more than be a value or a formula
is refused all the same, since code beside a scorer could decide its own score.
"""

from __future__ import annotations

import ast
import math
import re
from typing import Literal

LITERALS = frozenset({"binary_matrix", "n_queens", "spiral_matrix", "string_insertion"})
"""Datasets whose scorers evaluate lists."""
FORMULAS = frozenset(
    {
        "countdown",
        "intermediate_integration",
        "polynomial_multiplication",
        "puzzle24",
        "simple_integration",
    }
)
"""Datasets whose scorers evaluate formulas with sympy."""
EVALUATING = LITERALS | FORMULAS
FUNCTIONS = frozenset(
    {
        "sin", "cos", "tan", "cot", "sec", "csc", "asin", "acos", "atan", "acot", "asec", "acsc",
        "sinh", "cosh", "tanh", "coth", "asinh", "acosh", "atanh", "exp", "log", "ln", "sqrt",
        "cbrt", "root", "Abs", "sign", "Rational", "Integer", "Float", "erf", "erfi", "Si", "Ci",
        "Ei", "li", "fresnels", "fresnelc",
    }
)  # fmt: skip
"""What a formula may call, beside one-letter names (`x(x + 1)` is a product)."""
MAX_EXPONENT = 200
MAX_FORMULA_CHARACTERS = 4000
MAX_BITS = 100_000
"""Longest number that a formula may come to, so that no answer holds up its scorer."""

_CALL = re.compile(r"\b\d*([^\W\d]\w*)\s*\(")
_INDIRECT = re.compile(r"[)\]}'\"]\s*\(")
_WORD = re.compile(r"[^\W\d]\w*")
_ATTRIBUTE = re.compile(r"[\w)\]}'\"]\s*\.\s*[^\W\d]")
_POWER = re.compile(r"(?:\*\*|\^)\s*(?P<what>\(?\s*[-+]?\s*(?P<number>\d+)?)")
_TOWER = re.compile(r"(?:\*\*|\^)[\s(+-]*\w+[\s)]*(?:\*\*|\^)")
_FACTORIAL = re.compile(r"!(?!=)")
_NEVER = frozenset({"lambda", "import", "for", "while", "if", "exec", "eval", "open", "yield"})


def harmless(answer: str, kind: Literal["literal", "formula"] | str = "formula") -> bool:
    """Whether an answer is a value or a formula, and nothing that acts or takes for ever.

    Args:
        answer: what the reply gives.
        kind: `literal` for lists, `formula`, or the name of a dataset.
    """
    if "__" in answer or "\\" in answer or _ATTRIBUTE.search(_without_decimals(answer)):
        return False
    if kind == "literal" or kind in LITERALS:
        return not (_CALL.search(answer) or _INDIRECT.search(answer) or "*" in answer)
    if len(answer) > MAX_FORMULA_CHARACTERS or any(mark in answer for mark in "'\"[]{}:;@`"):
        return False
    if any(word in _NEVER for word in _WORD.findall(answer)):
        return False
    called = _CALL.findall(answer)
    if not all(name in FUNCTIONS or (len(name) == 1 and name.islower()) for name in called):
        return False
    if _TOWER.search(answer) or _FACTORIAL.search(answer):
        return False
    powers = [int(power["number"]) for power in _POWER.finditer(answer) if power["number"]]
    return max(powers, default=0) <= MAX_EXPONENT and _is_short(answer)


def _is_short(formula: str) -> bool:
    """Whether a formula comes to no number of more than `MAX_BITS`; malformed ones do not."""
    try:
        return _bits(ast.parse(formula.strip(), mode="eval").body) <= MAX_BITS
    except SyntaxError:
        return True
    except (MemoryError, RecursionError, ValueError):
        return False


def _bits(node: ast.AST) -> float:
    """Return a bound on the length of the number that a formula comes to; names are short."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, float):
            return math.log2(abs(node.value) + 2)
        return float(node.value.bit_length()) if isinstance(node.value, int) else 1.0
    parts = [_bits(part) for part in ast.iter_child_nodes(node)]
    if isinstance(node, ast.BinOp):
        left, right = parts[0], parts[2]
        if isinstance(node.op, ast.Pow):
            return left * math.pow(2.0, min(right, 64.0))
        return left + right + 1
    return sum(parts, 1.0)


def _without_decimals(answer: str) -> str:
    """Return the answer without numbers, whose points are no attributes (`1.e5`, `2.x`)."""
    return re.sub(r"(?<![\w.])\d+\.?\d*(?:[eE][-+]?\d+)?", "0 ", answer)
