"""Reports as plain JSON values, read back strictly."""

from __future__ import annotations

from spade_envs.manifest.canonical import canonical_json, decode_report, encode_report, parse_json
from spade_envs.types import Json, Report


def report_to_json(report: Report) -> Json:
    """Return a report as plain JSON values; numbers that are not finite become text.

    Raises:
        ConfigError: a gate's evidence is not JSON.
    """
    return parse_json(encode_report(report), "report")


def report_from_json(value: Json) -> Report:
    """Return the report in `value`: JSON as bytes or text, or the values themselves.

    Raises:
        Corrupt: it is no report, or holds keys that a report does not have.
        ConfigError: the values are not JSON.
    """
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogatepass")
    return decode_report(value if isinstance(value, bytes) else canonical_json(value))
