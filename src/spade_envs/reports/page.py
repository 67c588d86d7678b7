"""The HTML page of a run: one file without scripts, links to elsewhere, or anything to load.

Everything in it that an environment, a model or a file name wrote is escaped by the template
engine, hidden characters are spelt out, and the page's own policy forbids scripts and requests.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup, escape

from spade_envs._version import __version__
from spade_envs.gates import GATES_VERSION
from spade_envs.reports import figures
from spade_envs.reports.entry import Entry
from spade_envs.reports.sections import MARKS, VERDICT_MARKS, section
from spade_envs.reports.visible import HIDDEN, clean, escaped

MAX_TEXT_CHARS = 6000
"""Longer texts in the evidence are cut; the JSON has them in full."""


def render(entries: Sequence[Entry], *, made_at: str, title: str = "spade-envs check") -> str:
    """Return the page as one HTML document, UTF-8 when encoded.

    Args:
        entries: the run.
        made_at: when it was made, as text for people.
        title: of the page.
    """
    template = environment().get_template("page.html")
    tally: Counter[str] = Counter(entry.verdict for entry in entries)
    return template.render(
        title=title,
        made_at=made_at,
        version=__version__,
        gates_version=GATES_VERSION,
        sections=[section(number, entry) for number, entry in enumerate(entries, 1)],
        tally=[(word, tally[word]) for word in VERDICT_MARKS if tally[word]],
        marks=MARKS,
        verdict_marks=VERDICT_MARKS,
    )


def environment(*packages: str) -> jinja2.Environment:
    """Return the template engine with escaping always on, and the filters of this package.

    Args:
        packages: packages whose folder `templates` is looked into before this one's.
    """
    folders = [files(package) / "templates" for package in (*packages, "spade_envs.reports")]

    def load(name: str) -> str | None:
        found = (folder / name for folder in folders)
        file = next((file for file in found if file.is_file()), None)
        return file.read_text(encoding="utf-8") if file is not None else None

    found = jinja2.Environment(
        autoescape=True,
        loader=jinja2.FunctionLoader(load),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters.update(
        show=show, rate=figures.rate_of, bar=figures.bar, percent=figures.percent, lines=line_links
    )
    found.filters.update(chart=figures.levels_chart, symbol=figures.symbol, plain=_plain)
    found.tests.update(mapping_=_is_mapping, listing=_is_list, table=_is_table)
    return found


def show(text: object) -> Markup:
    """Return foreign text as HTML: escaped, cut, and with hidden characters spelt out."""
    whole = str(text)
    kept = whole[:MAX_TEXT_CHARS]
    parts, at = [], 0
    for found in HIDDEN.finditer(kept):
        parts += [escape(kept[at : found.start()]), _spelt(found[0])]
        at = found.end()
    parts.append(escape(kept[at:]))
    if len(whole) > len(kept):
        parts.append(escape(f" ... ({len(whole)} characters)"))
    return Markup("").join(parts)


def _spelt(char: str) -> Markup:
    return Markup('<span class="hidden-char">{}</span>').format(escaped(char))


_LINE = re.compile(r"\bline (\d{1,6})\b")


def line_links(text: object, number: int, named: frozenset[int]) -> Markup:
    """Return foreign text as HTML in which `line 12` leads to that line of the shown source."""
    parts, at = [], 0
    whole = str(text)[:MAX_TEXT_CHARS]
    for found in _LINE.finditer(whole):
        if int(found[1]) in named:
            link = Markup('<a href="#t{}-L{}">line {}</a>').format(number, *[int(found[1])] * 2)
            parts += [show(whole[at : found.start()]), link]
            at = found.end()
    parts.append(show(whole[at:]))
    return Markup("").join(parts)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else clean(json.dumps(value, ensure_ascii=False))


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping)


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _is_table(value: Any) -> bool:
    """Whether a value is a list of mappings, to be shown as rows."""
    return _is_list(value) and bool(value) and all(isinstance(item, Mapping) for item in value)
