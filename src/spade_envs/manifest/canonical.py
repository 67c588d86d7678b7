"""Canonical JSON, strict JSON reading, digests and reports, without pydantic.

Canonical JSON is UTF-8 with sorted keys, two spaces of indent, no escapes beyond the necessary and
a final newline. Two equal values have equal bytes, so the sha256 of the bytes identifies the value.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from spade_envs.errors import ConfigError, Corrupt
from spade_envs.ids import Digest
from spade_envs.types import Interface, Json, Report

FORMAT = 1
"""Number of the envstore format that this release writes, and the newest one that it reads."""

_MAX_DEPTH = 64


@dataclass(frozen=True, slots=True, order=True)
class FileStamp:
    """What a manifest vouches for about one file."""

    sha256: str
    """64 hexadecimal digits."""
    size: int
    """Length in bytes."""


def stamp(data: bytes) -> FileStamp:
    """Return the stamp of a file with the content `data`."""
    return FileStamp(hashlib.sha256(data).hexdigest(), len(data))


def canonical_json(value: Json) -> bytes:
    """Return the canonical JSON of `value`; tuples count as lists.

    Raises:
        ConfigError: `value` is not JSON (a key that is no str, a float that is not finite, an
            object of another type), has an integer of thousands of digits, or is nested deeper
            than 64 levels.
    """
    plain = _plain(value, _MAX_DEPTH)
    try:
        text = json.dumps(plain, sort_keys=True, indent=2, ensure_ascii=False)
    except ValueError as error:
        raise ConfigError(f"not a JSON value: {error}") from None
    # What is left to replace are lone surrogates; Python's escape is also JSON's (`\udc80`).
    return f"{text}\n".encode("utf-8", "backslashreplace")


def _plain(value: Any, depth: int) -> Json:
    """Return `value` as dicts, lists and scalars of exactly the JSON types."""
    if depth < 0:
        raise ConfigError(f"JSON is nested deeper than {_MAX_DEPTH} levels")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ConfigError(f"JSON has no number {value!r}")
        return float(value)
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise ConfigError("JSON keys must be str")
        return {_text(key): _plain(item, depth - 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, depth - 1) for item in value]
    raise ConfigError(f"{type(value).__name__} is not a JSON value")


def _text(value: str) -> str:
    """Return `value` with pairs of surrogates joined, as every JSON reader would join them."""
    if value.isascii():
        return str(value)
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def parse_json(data: bytes, where: str) -> Json:
    """Return the JSON value in `data`; `where` names the file in messages.

    Stricter than `json.loads`: duplicate keys, NaN, infinities and text that is not UTF-8 are
    refused, so that no two readers can understand one file differently.

    Raises:
        Corrupt: `data` is no such JSON.
    """
    try:
        return json.loads(
            data.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant
        )
    except (ValueError, RecursionError) as error:
        raise Corrupt(f"{where} is not valid JSON: {str(error)[:200]}") from None


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"key {next(k for k in keys if keys.count(k) > 1)!r} is given twice")
    return found


def _no_constant(name: str) -> Json:
    raise ValueError(f"{name} is not a JSON number")


def identity_of(interface: Interface) -> dict[str, Json]:
    """Return the part of an interface that belongs to the environment's identity.

    That is every field except `summary`, which is text for people.
    """
    fields = {field.name: getattr(interface, field.name) for field in dataclasses.fields(interface)}
    del fields["summary"]
    fields["reward_range"] = [float(bound) for bound in interface.reward_range]
    return fields


def digest_of(files: Mapping[str, FileStamp], interface: Interface) -> Digest:
    """Return the identity of an environment: sha256 over canonical JSON of files and interface."""
    stamps = {path: {"sha256": file.sha256, "size": file.size} for path, file in files.items()}
    identity = {"files": stamps, "format": FORMAT, "interface": identity_of(interface)}
    return Digest(f"sha256:{hashlib.sha256(canonical_json(identity)).hexdigest()}")


_NO_SEAL = b"0" * 64


def sealed(data: bytes) -> bytes:
    """Return a manifest's canonical JSON with its seal, which must still be 64 zeros, filled in.

    Raises:
        ConfigError: there is no place for a seal.
    """
    blank = _seal_line(_NO_SEAL)
    if data.count(blank) != 1:
        raise ConfigError("a manifest has exactly one seal")
    seal = hashlib.sha256(data).hexdigest().encode("ascii")
    return data.replace(blank, _seal_line(seal))


def seal_holds(data: bytes, seal: str) -> bool:
    """Whether every byte of a manifest is still the one that its seal was made for."""
    line = _seal_line(seal.encode("utf-8", "replace"))
    if len(seal) != len(_NO_SEAL) or data.count(line) != 1:
        return False
    blank = data.replace(line, _seal_line(_NO_SEAL))
    return hashlib.sha256(blank).hexdigest() == seal


def _seal_line(seal: bytes) -> bytes:
    # Two spaces: the key of the whole, not one of the same name further inside.
    return b'\n  "seal": "' + seal + b'"'


def encode_report(report: Report) -> bytes:
    """Return a report as canonical JSON; numbers that are not finite become text.

    Raises:
        ConfigError: a gate's evidence is not JSON.
    """
    return canonical_json(_finite(msgspec.to_builtins(report, str_keys=True)))


def _finite(value: Json) -> Json:
    """Return `value` with `nan`, `inf` and `-inf` as text: gates report what they saw."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def decode_report(data: bytes, where: str = "report.json") -> Report:
    """Return the report in `data`; `where` names the file in messages.

    Raises:
        Corrupt: `data` is no report, or holds keys that a report does not have.
    """
    raw = parse_json(data, where)
    try:
        report = msgspec.convert(raw, Report)
    except msgspec.ValidationError as error:
        raise Corrupt(f"{where}: {error}") from None
    if extra := sorted(_keys(raw) - _keys(msgspec.to_builtins(report))):
        raise Corrupt(f"{where}: unknown keys {', '.join(extra[:5])}")
    return report


def _keys(report: Mapping[str, Json]) -> set[str]:
    """Return the dotted keys of a report, its interface and its results."""
    parts: list[tuple[str, Json]] = [("", report), ("interface.", report["interface"] or {})]
    parts += [("results.", result) for result in report["results"]]
    return {f"{prefix}{key}" for prefix, part in parts for key in part}
