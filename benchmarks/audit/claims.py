"""What the JSON of `spade-envs check` claims, as things that the second script can try."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.audit.libraries import single_turn

_TAGS = (("<answer>", "</answer>"), ("\\boxed{", "}"))
_NAMED = re.compile(r"an answer with (.*?) instead of the right one wins")


@dataclass(frozen=True)
class Claim:
    """One failure of one gate, and how to try it again."""

    library: str
    name: str
    gate: str
    kind: str
    """A function of `probes`, or empty if it has to be read by hand."""
    message: str
    level: int = 0
    texts: tuple[str, ...] = ()
    """Answers or actions that the gate played, without the tags around them."""
    detail: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Figures of the gate."""


def claims_of(document: list[dict[str, Any]], outcome: str = "fail") -> Iterator[Claim]:
    """Yield a claim for every gate with this outcome on an environment of a library."""
    for entry in document:
        prefix, _, rest = entry["target"].partition(":")
        name = rest.rpartition("#")[2] if prefix == "rlve" else rest
        for result in (entry["report"] or {}).get("results", ()):
            if result["outcome"] == outcome:
                yield _claim(prefix, name, result)


def inner(text: str) -> str:
    """Return what stands in the last tags or box of a message; all of it if there is none."""
    for opening, closing in _TAGS:
        start, end = text.rfind(opening), text.rfind(closing)
        if 0 <= start < end:
            return text[start + len(opening) : end].strip()
    return text


def _whole(text: str) -> str:
    """Return a text of one repeated character that the report cut."""
    cut = re.fullmatch(r"(.)\1+ ?\.\.\. \((\d+) characters\)", text)
    return cut.group(1) * int(cut.group(2)) if cut else text


def _claim(library: str, name: str, result: Mapping[str, Any]) -> Claim:
    evidence, gate, message = result["evidence"], result["gate"], result["message"]
    actions = [_whole(step["action"]) for step in evidence.get("transcript", ())]
    kind, detail, texts = "", "", tuple(actions)
    if gate in ("L0.4", "L3.3", "L3.2", "L3.8"):
        kind = "constant"
        detail = str(evidence.get("policy", ""))
        if detail and not detail.startswith("always"):
            kind = "copied" if detail.startswith(("copies", "echoes")) else ""
    elif gate == "L3.4":
        kind, texts = "constant", tuple(evidence.get("actions", ()))
    elif gate == "L3.5":
        kind = "foreign"
    elif gate == "L3.6" and (found := _NAMED.search(message)):
        kind, detail = "edited", found.group(1)
    elif gate == "L3.7":
        kind, detail = "edited", str(evidence.get("kind", ""))
    elif gate == "L3.10" and evidence.get("channel") == "the first observation":
        kind, detail = "shown", str(evidence.get("after", ""))
    elif gate in ("L1.1", "L1.2", "L1.3", "L1.4"):
        kind = "raises"
        texts = texts or (_raised_on(message),)
    elif gate in ("L2.1", "L2.2", "L2.3"):
        kind = "moved"
        difference = evidence.get("difference", {})
        texts = (difference["action"],) if "action" in difference else texts
    elif gate == "L2.4":
        kind = "" if single_turn(library) else "forked"
        texts = (evidence.get("difference", {}).get("action", "hello"),)
    elif gate == "L3.1":
        kind = "unpaid"
    elif gate == "L2.5" or (gate == "L2.6" and "all seeds" in message):
        kind = "repeated"
    level = evidence.get("level")
    if level is None and (found := re.search(r"at level (\d+)", message)):
        level = int(found.group(1))
    return Claim(
        library=library,
        name=name,
        gate=gate,
        kind=kind,
        message=message,
        level=level or 0,
        texts=tuple(dict.fromkeys(map(inner, texts) if single_turn(library) else texts)),
        detail=detail,
        facts={key: value for key, value in evidence.items() if isinstance(value, dict)},
    )


def _raised_on(message: str) -> str:
    """Return the text with which Gymnasium's checker steps."""
    return "take 7 right left" if "check_env" in message else ""
