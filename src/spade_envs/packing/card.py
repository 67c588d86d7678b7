"""The dataset card of a store: what it holds, what admitted it, how to load it.

Every text that a manifest brings is escaped: a card is shown on a web page by whoever hosts it.
"""

from __future__ import annotations

import json
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from spade_envs._version import __version__
from spade_envs.packing.chosen import Chosen
from spade_envs.packing.licences import for_hub
from spade_envs.store.catalog import escape
from spade_envs.store.layout import REPORT
from spade_envs.store.publish import measured_in
from spade_envs.store.read import clean_line
from spade_envs.types import Json

CARD_MARK = "<!-- made by spade-envs card; edits here are lost -->"
MOST_ROWS = 200
"""Environments that are listed one by one; the catalogue has them all."""

CardFormat: TypeAlias = Literal["hub", "git", "package", "pool"]
Counts: TypeAlias = tuple[tuple[str, int], ...]

_NO_SKILL = "none"
_FIGURES = (
    ("L3.1", "success_rate", min, "reference solution wins, at its worst level"),
    ("L3.3", "levels", max, "ignorant policies win, at their best level"),
    ("L3.4", "best_constant", max, "best constant answer wins, at its best level"),
    ("L3.5", "cross_seed", max, "answers of other seeds win, at their best level"),
)
"""Gate, key of its figures, which level counts, and what it means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """What a card says about a set of environments."""

    rows: tuple[tuple[str, str, str, int, int, str], ...]
    """Id, summary, skills, levels, turns, licence of each, in order."""
    kinds: Counts
    skills: Counts
    levels: Counts
    licences: Counts
    origins: Counts
    """Method and, for designed ones, the designer."""
    documents: Counts
    """Corpus and licence of the documents that environments were made from."""
    gates: tuple[tuple[str, str, int, int, int], ...]
    """Gate, title, and in how many reports it passed, warned, could not be measured."""
    gates_versions: Counts
    figures: tuple[tuple[str, float, float, float, int], ...]
    """What was measured: least, median and greatest share over the environments, and how many."""


def sheet_of(chosen: Iterable[Chosen]) -> Sheet:
    """Return the facts of a card; reads each version once and keeps none."""
    counts: dict[str, Counter[str]] = {
        name: Counter()
        for name in ("kinds", "skills", "levels", "licences", "origins", "documents", "versions")
    }
    rows, gates = [], dict[str, tuple[str, Counter[str]]]()
    measured: dict[str, list[float]] = {told: [] for *_, told in _FIGURES}
    for one in chosen:
        record, manifest = one.record, one.manifest
        skills = ", ".join(record.skills)
        rows.append((record.id, record.summary or record.title, skills, record.levels,
                     record.max_turns, record.licence))  # fmt: skip
        counts["kinds"][record.kind] += 1
        counts["skills"].update(record.skills or (_NO_SKILL,))
        counts["levels"][str(record.levels)] += 1
        counts["licences"][record.licence] += 1
        origin, designer = manifest.provenance, manifest.provenance.designer
        counts["origins"][
            f"{origin.method} by {designer.model}" if designer else origin.method
        ] += 1
        if origin.passage is not None:
            counts["documents"][f"{origin.passage.corpus} ({origin.passage.licence})"] += 1
        counts["versions"][one.report.gates_version] += 1
        for result in one.report.results:
            gates.setdefault(result.gate, (result.title, Counter()))[1][result.outcome] += 1
        for told, share in _shares(measured_in(one.files[REPORT])):
            measured[told].append(share)
    order = {name: _sorted(counter) for name, counter in counts.items()}
    return Sheet(
        rows=tuple(rows),
        kinds=order["kinds"],
        skills=order["skills"],
        levels=tuple(sorted(order["levels"], key=lambda item: int(item[0]))),
        licences=order["licences"],
        origins=order["origins"],
        documents=order["documents"],
        gates=tuple(
            (gate, title, outcomes["pass"], outcomes["warn"], outcomes["skip"])
            for gate, (title, outcomes) in sorted(gates.items(), key=lambda item: _gate(item[0]))
        ),
        gates_versions=order["versions"],
        figures=tuple(
            (told, min(shares), statistics.median(shares), max(shares), len(shares))
            for told, shares in measured.items()
            if shares
        ),
    )


def _sorted(counter: Counter[str]) -> Counts:
    return tuple(sorted(counter.items(), key=lambda item: (-item[1], item[0])))


def _gate(gate: str) -> tuple[list[int], str]:
    return [int(number) for number in re.findall(r"[0-9]{1,9}", gate)], gate


def _shares(measured: Mapping[str, Mapping[str, Json]]) -> Iterable[tuple[str, float]]:
    for gate, key, which, told in _FIGURES:
        by_level = measured.get(gate, {}).get(key)
        if isinstance(by_level, Mapping):
            shares = [share for value in by_level.values() if (share := _share(value)) is not None]
            if shares:
                yield told, which(shares)


def _share(value: Json) -> float | None:
    if isinstance(value, Mapping):
        value = value.get("mean")
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value <= 1 else None


def render_card(
    sheet: Sheet, *, title: str, form: CardFormat, install: str = "", make: str = ""
) -> str:
    """Return a card as Markdown.

    Args:
        sheet: what it says.
        title: its heading.
        form: `hub` for a dataset of the Hugging Face Hub, with YAML front matter; `git` for the
            README of a repository; `package` and `pool` for those of what `pack` and `export` make.
        install: commands that bring it here; those of the form by default.
        make: Python that makes the first environment; that of a store by default.
    """
    first = sheet.rows[0][0]
    shell = install or _install(form, sheet)
    python = make or _LOAD.format(id=first)
    parts = [
        _front_matter(sheet, title) if form == "hub" else "",
        f"{CARD_MARK}\n\n# {escape(title)}\n\n{_lead(sheet)}",
        f"## Loading it\n\n```console\n{shell}```\n\n```python\n{python}```\n\n{_SAFETY}",
        f"## What it holds\n\n{_holdings(sheet)}",
        f"## What admitted it\n\n{_admission(sheet)}",
        f"## Environments\n\n{_listing(sheet)}",
    ]
    return "\n".join(part for part in parts if part)


_EXTRAS: Mapping[CardFormat, str] = {"hub": "'spade-envs[hub]'"}
_PLACES: Mapping[CardFormat, str] = {"hub": "hf://datasets/OWNER/NAME", "git": "URL"}


def _install(form: CardFormat, sheet: Sheet) -> str:
    """Return the commands that bring the environments here, and what lets them run."""
    lines = [f"pip install {_EXTRAS.get(form, 'spade-envs')}"]
    if (place := _PLACES.get(form)) is not None:
        names = [row[0].rpartition("/")[2] for row in sheet.rows]
        owners = sorted({name.partition(".")[0] if "." in name else "" for name in names})
        lines.append(f"spade-envs pull {place} --store ours     # of this repository")
        lines += [" ".join(f"spade-envs trust add {owner} --from {place}".split())
                  for owner in owners]  # fmt: skip
    else:
        lines += ["sha256sum --check checksums.sha256", "spade-envs import . --store ours"]
    return "".join(f"{line}\n" for line in lines)


_LOAD = """import gymnasium as gym
import spade_envs

spade_envs.register_store("ours")
env = gym.make("{id}", level=0)
observation, info = env.reset(seed=0)
"""
_SAFETY = (
    "The code of each environment runs in a sandboxed worker process; its digest, its report and "
    "the seal of its manifest are checked each time it is loaded.\n"
)


def _front_matter(sheet: Sheet, title: str) -> str:
    number = len(sheet.rows)
    sizes = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"))
    size = next((name for most, name in sizes if number < most), "100K<n<1M")
    skills = [skill for skill, _ in sheet.skills if skill != _NO_SKILL]
    fields: dict[str, Json] = {
        "pretty_name": clean_line(title),
        "license": for_hub(licence for licence, _ in sheet.licences),
        "task_categories": ["reinforcement-learning"],
        "tags": ["gymnasium", "spade-envs", "environments", *skills],
        "size_categories": [size],
        "configs": [{"config_name": "default", "data_files": "index.jsonl"}],
    }
    # JSON is YAML, and its strings can hold nothing that ends the block; but in halves of a
    # character, as JSON escapes what lies beyond U+FFFF, YAML sees two.
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in fields.items()]
    return f"---\n{''.join(lines)}---\n"


def _lead(sheet: Sheet) -> str:
    number, what = len(sheet.rows), " and ".join(f"{n} {kind}" for kind, n in sheet.kinds)
    noun = "environment" if number == 1 else "environments"
    return (
        f"{number} Gymnasium {noun} ({what}) for language-model agents, in envstore format 1. Each "
        "was admitted by executed gates: it is reproducible, can be won by its reference solution, "
        "and is not won by policies that know nothing. "
        f"Made with spade-envs {__version__}.\n"
    )


def _holdings(sheet: Sheet) -> str:
    rows = [
        ("skills", sheet.skills),
        ("difficulty levels", sheet.levels),
        ("licences", sheet.licences),
        ("origin", sheet.origins),
        ("documents", sheet.documents),
    ]
    told = [(name, "; ".join(f"{what}: {n}" for what, n in counts)) for name, counts in rows]
    return _table(("", "environments"), [(name, text) for name, text in told if text])


def _admission(sheet: Sheet) -> str:
    figures = _table(
        ("measured", "least", "median", "greatest", "environments"),
        [(told, *(f"{share:.3f}" for share in shares), n) for told, *shares, n in sheet.figures],
    )
    gates = _table(("gate", "what it asks", "passed", "warned", "not measured"), list(sheet.gates))
    versions = ", ".join(version for version, _ in sheet.gates_versions)
    return (
        f"Floors and ceilings, as shares of episodes won:\n\n{figures}\n"
        f"Gates (version {escape(versions)}; no environment failed one):\n\n{gates}"
    )


def _listing(sheet: Sheet) -> str:
    head = ("id", "what it is", "skills", "levels", "turns", "licence")
    rest = len(sheet.rows) - MOST_ROWS
    more = f"\nand {rest} more: see `CATALOG.md` and `index.jsonl`.\n" if rest > 0 else ""
    rows = [(f"`{env_id}`", *others) for env_id, *others in sheet.rows[:MOST_ROWS]]
    return _table(head, rows, code_first=True) + more


def _table(
    head: Sequence[str], rows: Sequence[Sequence[object]], *, code_first: bool = False
) -> str:
    lines = [head, ["---"] * len(head)]
    for row in rows:
        cells = [escape(str(cell)) for cell in row]
        lines.append([str(row[0]), *cells[1:]] if code_first else cells)
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
