"""What a check may know besides its target: other environments, and texts of evaluations."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from spade_envs.errors import ConfigError
from spade_envs.gates.context import Fingerprint
from spade_envs.gates.originality import fingerprint
from spade_envs.ids import NAMESPACE
from spade_envs.interop.files import read_bounded
from spade_envs.interop.target import Target
from spade_envs.types import Json

MAX_BYTES = 256 << 20
_KEYS = ("text", "prompt", "question", "problem", "instruction", "input", "task")


def strangers(
    target: Target, known: Sequence[Fingerprint], into: Sequence[Fingerprint] = ()
) -> list[Fingerprint]:
    """Return the environments that a target must not repeat.

    Args:
        target: what is checked; its own entry and other versions of its name are left out.
        known: all that it is compared with.
        into: what the store holds that it is meant for. The very same source is no repetition
            there, since it would become the same version; targets that play a library are not
            compared, since their sources are alike by design.
    """
    own = target.label if target.name is None else f"{NAMESPACE}/{target.name}-v"
    found = [other for other in known if not same_environment(target.label, other.name)]
    if target.source is None or target.library is not None:
        return found
    return found + [
        other
        for other in into
        if other.source_sha256 != target.source.sha256
        and not same_environment(target.label, other.name)
        and not same_environment(own, other.name)
    ]


def same_environment(label: str, other: str) -> bool:
    """Whether two labels are one environment: the same label, or versions of one stored name."""
    stored = f"{NAMESPACE}/"
    if not (label.startswith(stored) and other.startswith(stored)):
        return label == other
    return label.rpartition("-v")[0] == other.rpartition("-v")[0]


def glance(target: Target) -> Fingerprint | None:
    """Return what the text of a target's source tells; nothing is run, so `replies` is empty.

    None for targets that play a library: their sources differ in a name only, by design.
    """
    if target.source is None or target.library is not None:
        return None
    return fingerprint(target.source, name=target.label)


def earlier_files(glances: Sequence[Fingerprint | None], position: int) -> tuple[Fingerprint, ...]:
    """Return the glances before the one at `position`; none for a target that plays a library."""
    if glances[position] is None:
        return ()
    return tuple(other for other in glances[:position] if other is not None)


def evaluation_texts(path: str | Path) -> tuple[str, ...]:
    """Return the texts of an evaluation set.

    Args:
        path: JSONL whose lines are strings, or objects with `text`, `prompt`, `question`,
            `problem`, `instruction`, `input` or `task`; any other file is text, with blank lines
            between tasks.

    Raises:
        ConfigError: the file cannot be read, or there is no text in it.
    """
    file = Path(path)
    try:
        content = read_bounded(file, MAX_BYTES).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the evaluation texts {path}: {error}") from None
    lines = file.suffix in (".jsonl", ".ndjson")
    found = tuple(_of_lines(content, str(path)) if lines else _of_text(content))
    if not found:
        raise ConfigError(f"{path} holds no evaluation text")
    return found


def _of_text(content: str) -> Iterator[str]:
    block: list[str] = []
    for line in [*content.splitlines(), ""]:
        if line.strip():
            block.append(line)
        elif block:
            yield "\n".join(block)
            block = []


def _of_lines(content: str, where: str) -> Iterator[str]:
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row: Json = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{where}:{number} is not JSON: {error}") from None
        texts = [row] if isinstance(row, str) else []
        if isinstance(row, dict):
            texts = [row[key] for key in _KEYS if isinstance(row.get(key), str)]
        if not texts:
            raise ConfigError(f"{where}:{number} has no text; name it one of {', '.join(_KEYS)}")
        yield from (text for text in texts if text.strip())
