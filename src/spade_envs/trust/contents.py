"""The files of one version from elsewhere, read as strictly as they must be written."""

from __future__ import annotations

import re
from collections.abc import Mapping

from spade_envs._version import GATES_VERSION
from spade_envs.errors import ConfigError, Corrupt
from spade_envs.gates.certificate import missing_verdicts
from spade_envs.ids import EnvId
from spade_envs.manifest.canonical import canonical_json, parse_json
from spade_envs.manifest.models import Manifest, Tombstone, read_model
from spade_envs.store.layout import CARD, MANIFEST, REPORT, SIGNATURE, SOURCE, TOMBSTONE
from spade_envs.store.read import clean_line, parse_report, parse_source, parse_version
from spade_envs.store.verify import report_flaws
from spade_envs.trust.incoming import Checked

_ARMOUR = b"-----BEGIN SSH SIGNATURE-----\n"


def open_version(env_id: EnvId, files: Mapping[str, bytes]) -> Checked:
    """Return the version in `files`, every file verified against its manifest.

    Raises:
        Corrupt: something is missing, is not strict canonical JSON, or does not belong together.
        FormatTooNew: a newer release wrote it.
    """
    for name in (MANIFEST, REPORT, *(() if TOMBSTONE in files else (SOURCE,))):
        if name not in files:
            raise Corrupt(f"{name} is missing")
    for name in (MANIFEST, REPORT, TOMBSTONE):
        if name in files:
            _require_canonical(files[name], name)
    data = files[MANIFEST]
    version = parse_version(data, env_id, MANIFEST)
    manifest = read_model(Manifest, data, MANIFEST)
    if SOURCE in files:
        parse_source(files[SOURCE], env_id, version, SOURCE)
    report = parse_report(files[REPORT], version, REPORT)
    rules = {GATES_VERSION: missing_verdicts}
    if flaw := next(report_flaws(manifest, report, files[REPORT], rules), ""):
        raise Corrupt(f"{REPORT} {flaw}")
    withdrawn = None
    if TOMBSTONE in files:
        tombstone = read_model(Tombstone, files[TOMBSTONE], TOMBSTONE)
        withdrawn = clean_line(f"{tombstone.reason} ({tombstone.at})")
    return Checked(
        env_id=env_id,
        digest=version.digest,
        manifest=manifest,
        files=dict(files),
        withdrawn=withdrawn,
    )


def _require_canonical(data: bytes, name: str) -> None:
    """Refuse JSON that two readers could understand differently, or that is no canonical JSON."""
    value = parse_json(data, name)
    try:
        same = canonical_json(value) == data
    except (ConfigError, RecursionError) as error:
        raise Corrupt(f"{name}: {error}") from None
    if not same:
        raise Corrupt(f"{name} is not canonical JSON, as every writer of a store gives it")


_VARIANTS = "[\ufe00-\ufe0f\U000e0100-\U000e01ef]"
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u2800\u3164\uffa0]"
    f"|(?<![^\\x00-\\x7f]){_VARIANTS}(?!\u20e3)|(?<![^\\x00-\\x7f])(?<![0-9#*]){_VARIANTS}"
    f"|{_VARIANTS}{{2}}"
)
"""Fillers and blanks that count as printable, and variants of no character that has any."""


def is_plain(text: str) -> bool:
    """Whether a line has no characters that cannot be seen, and no spaces out of place."""
    return text == clean_line(text) and not _BLANK.search(text)


def flaw_of(version: Checked) -> str:
    """Return what people could be misled with in a version; empty if nothing is."""
    manifest = version.manifest
    for key in ("title", "summary", "licence"):
        text = getattr(manifest, key)
        if not is_plain(text):
            return f"has a {key} with characters that cannot be seen, or spaces out of place"
    if (card := version.files.get(CARD)) is not None:
        try:
            text = card.decode("utf-8")
        except UnicodeDecodeError:
            return f"has a {CARD} that is not UTF-8"
        if not all(char.isprintable() or char in "\n\t" for char in text):
            return f"has a {CARD} with characters that cannot be seen"
    signature = version.files.get(SIGNATURE)
    if signature is not None and not signature.startswith(_ARMOUR):
        return f"has a {SIGNATURE} that is no SSH signature"
    return ""
