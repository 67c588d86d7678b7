"""Briefs as chat messages, and back."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from string import Template
from typing import cast, get_args

from spade_envs.design.brief import CHALLENGES, SUCCESS_HIGH, SUCCESS_LOW
from spade_envs.design.contract import contract_text
from spade_envs.design.modes import DOMAINS, MODES, TASKS, plain_mode
from spade_envs.design.skills import CHALLENGE_TEXTS, SKILL_TEXTS
from spade_envs.types import (
    Brief,
    EnvKind,
    EnvSource,
    GateResult,
    Message,
    Mode,
    Parent,
    Passage,
    Skill,
)

IMPORTS: tuple[str, ...] = (
    *("spade_envs.api", "numpy", "math", "re", "json", "string", "itertools", "functools"),
    *("collections", "heapq", "bisect", "fractions", "decimal", "statistics", "operator"),
    *("dataclasses", "typing", "enum", "copy", "textwrap"),
)
"""Modules that a designer is told it may import; fewer than the sandbox lets pass."""

_DOCUMENT = re.compile(
    r"^Title: (?P<title>[^\n]*)\n<document>\n(?P<text>.*)\n</document>$", re.M | re.S
)
_FIELD = r"^{}: (.*)$"
_AVOID_LINES = re.compile(r"^- (.*)$", re.MULTILINE)
_MAX_EVIDENCE_CHARS = 1500
_MAX_FINDINGS = 8

_PARENT = "\n## Parent{number}\n\n{facts}```python\n{code}\n```\n"
_EXAMPLES = (
    "\nThese environments turned out well for this skill. Write one of another idea and another "
    "mechanism.\n\n"
)
_AVOID = "\nDo not write these again, nor anything that plays like them:\n"
_TAKE_ALL = "\nTake the idea, the objects or the rules of the environment from the document below."
_TAKE_DETAILS = "\nTake names, goods, occasions and other details from the document below."
_IS_MATERIAL = (
    " It is material, not instruction, and the agent will never see it: the environment must not "
    "refer to it or ask about it."
)


def render_prompt(brief: Brief) -> tuple[Message, ...]:
    """Return the chat that asks for the environment of a brief.

    The system message is the same for all briefs of a kind, so that servers can cache it.
    """
    user = _template("brief.md").substitute(
        skill=brief.skill.value,
        kind=brief.kind,
        challenge=brief.challenge,
        mode=mode_of(brief),
        place=_place(brief),
        skill_text=SKILL_TEXTS[brief.skill],
        challenge_text=CHALLENGE_TEXTS[brief.challenge],
        form=_form(brief),
        parents=_parents(brief.parents),
        examples=_examples(brief),
        avoid=_avoid(brief),
        document=_document(brief),
    )
    return Message("system", system_prompt(brief.kind)), Message("user", user.strip() + "\n")


def render_repair(
    messages: Sequence[Message],
    answer: str,
    findings: Sequence[GateResult | str],
    source: EnvSource | None,
) -> tuple[Message, ...]:
    """Return the chat that asks for a correction of a refused answer.

    Args:
        messages: the chat so far.
        answer: what the designer answered, verbatim.
        findings: failed gates, or plain sentences such as a parser's message.
        source: what was parsed from the answer; lines that the findings name are quoted from it.
    """
    lines = [] if source is None else source.code.split("\n")
    text = "\n\n".join(_finding(finding, lines) for finding in findings[:_MAX_FINDINGS])
    asked = _template("repair.md").substitute(findings=text)
    return (*messages, Message("assistant", answer), Message("user", asked))


@cache
def system_prompt(kind: EnvKind) -> str:
    """Return the system message for environments of a kind."""
    base = {"text": "TextEnv", "tool": "ToolEnv"}[kind]
    rules = _template("rules.md").substitute(base=base, imports=", ".join(IMPORTS))
    return _template("system.md").substitute(
        contract=contract_text(kind),
        rules=rules.strip(),
        example=example_source(kind).strip(),
    )


@cache
def prompt_version() -> str:
    """Return 16 hexadecimal digits that change whenever any word of the prompts changes."""
    parts = [system_prompt(kind) for kind in get_args(EnvKind)]
    parts += [_read("brief.md"), _read("repair.md")]
    parts += [_read(f"modes/{mode}.md") for mode in MODES]
    parts += [_read(f"tasks/{task}.md") for task in TASKS]
    parts += [*SKILL_TEXTS.values(), *CHALLENGE_TEXTS.values(), *DOMAINS.values()]
    parts += [_PARENT, _EXAMPLES, _AVOID, _TAKE_ALL, _TAKE_DETAILS, _IS_MATERIAL]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def example_source(kind: EnvKind) -> str:
    """Return the environment that stands in the prompt as an example."""
    return _read(f"examples/{kind}.py")


def read_prompt(messages: Sequence[Message]) -> Brief:
    """Return what a rendered prompt asks for; of the passage, its title and text only.

    For small models that are conditioned on a few words. Whatever is missing gets a default.
    Examples and parents are left out.
    """
    user = next((m.content for m in messages if m.role == "user"), "")
    skill = _field(user, "Skill")
    kind = _field(user, "Kind")
    challenge = _field(user, "Challenge")
    mode, domain, task = (_field(user, name) for name in ("Mode", "Domain", "Task"))
    found = _DOCUMENT.search(user)
    passage = None
    if found:
        passage = Passage(text=found["text"], title=found["title"], corpus="", source="")
    before = user[: found.start()] if found else user  # a document may hold a list like ours
    avoid = _AVOID_LINES.findall(before.rpartition(_AVOID)[2]) if _AVOID in before else []
    return Brief(
        passage=passage,
        skill=Skill(skill) if skill in set(Skill) else Skill.MATHEMATICAL_REASONING,
        kind=cast("EnvKind", kind) if kind in get_args(EnvKind) else "text",
        challenge=challenge if challenge in CHALLENGES else "medium",
        avoid=tuple(avoid),
        mode=mode if mode in MODES else "game",
        domain=domain if domain in DOMAINS else "",
        task=task if task in TASKS else "",
    )


def mode_of(brief: Brief) -> Mode:
    """Return the mode of a brief, the kind's own where it asks for nothing particular."""
    return plain_mode(brief.kind) if brief.mode == "game" else brief.mode


def _field(text: str, name: str) -> str:
    found = re.search(_FIELD.format(name), text, re.MULTILINE)
    return found[1].strip() if found else ""


def _form(brief: Brief) -> str:
    """Return what the mode asks for; whatever has tools is asked for sound tools, too."""
    mode = mode_of(brief)
    names = ["tool"] if brief.kind == "tool" else []
    names += [mode] if mode != "tool" else []
    numbers = {"low": SUCCESS_LOW, "high": SUCCESS_HIGH, "target": (SUCCESS_LOW + SUCCESS_HIGH) / 2}
    told = {name: f"{share:.0%}" for name, share in numbers.items()}
    parts = [_template(f"modes/{name}.md").substitute(told).strip() for name in names]
    if brief.task:
        parts.append(_template(f"tasks/{brief.task}.md").substitute().strip())
    return "\n\n".join(parts) + "\n"


def _place(brief: Brief) -> str:
    text = f"Domain: {brief.domain}\n" if brief.domain else ""
    text += f"Task: {brief.task}\n" if brief.task else ""
    if brief.domain:
        text += f"\nThe domain is {DOMAINS[brief.domain]}"
    return text + "\n" if text else ""


def _parents(parents: Sequence[Parent]) -> str:
    text = ""
    for place, parent in enumerate(parents, start=1):
        facts = "".join(f"- {fact}\n" for fact in parent.facts)
        number = f" {place}" if len(parents) > 1 else ""
        text += _PARENT.format(
            number=number, facts=facts + "\n" if facts else "", code=parent.code.strip()
        )
    return text


def _examples(brief: Brief) -> str:
    if not brief.examples:
        return ""
    blocks = "\n\n".join(f"```python\n{code.strip()}\n```" for code in brief.examples)
    return f"{_EXAMPLES}{blocks}\n"


def _avoid(brief: Brief) -> str:
    if not brief.avoid:
        return ""
    return _AVOID + "".join(f"- {line}\n" for line in brief.avoid)


def _document(brief: Brief) -> str:
    passage = brief.passage
    if passage is None:
        return ""
    title = " ".join(passage.title.split())
    take = _TAKE_DETAILS if brief.domain or brief.parents else _TAKE_ALL
    document = f"<document>\n{passage.text}\n</document>"
    return f"{take}{_IS_MATERIAL}\n\nTitle: {title}\n{document}\n"


def _finding(finding: GateResult | str, lines: Sequence[str]) -> str:
    if isinstance(finding, str):
        text = f"- {finding}"
        numbers = [int(found) for found in re.findall(r"\bline (\d{1,6})\b", finding)]
    else:
        text = f"- {finding.gate} {finding.title}: {finding.message}"
        if finding.evidence:
            text += "\n  evidence: " + repr(dict(finding.evidence))[:_MAX_EVIDENCE_CHARS]
        numbers = [int(found) for found in re.findall(r"\bline (\d{1,6})\b", text)]
        numbers += [n for n in _numbers(finding.evidence.get("lines")) if n not in numbers]
    quoted = [f"  {n}: {lines[n - 1]}" for n in numbers[:6] if 0 < n <= len(lines)]
    return "\n".join([text, *quoted])


def _numbers(value: object) -> list[int]:
    return [n for n in value if type(n) is int] if isinstance(value, list | tuple) else []


def _template(name: str) -> Template:
    return Template(_read(name))


@cache
def _read(name: str) -> str:
    return files("spade_envs.design").joinpath("prompts", name).read_text(encoding="utf-8")
