"""Plots as inline SVG: the only door to matplotlib.

Colours are written as placeholders and replaced by the page's own variables, so that a plot follows
the reader's light or dark setting. Curves differ by dashes as well as by colour.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup, escape

from spade_envs.errors import MissingExtra
from spade_envs.reports.visible import clean
from spade_train.reports.panels import Panel
from spade_train.reports.series import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = 10
"""Colours of curves, `--c0` to `--c9` on the page; more curves take them again."""
_CURVE = [f"#0a0b{number:02x}" for number in range(COLOURS)]
_INK, _SOFT, _LINE = "#0a0c00", "#0a0c01", "#0a0c02"
_VARIABLES = {
    **{colour: f"var(--c{number})" for number, colour in enumerate(_CURVE)},
    _INK: "var(--ink)",
    _SOFT: "var(--soft)",
    _LINE: "var(--line)",
}
_DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": 9,
    "axes.edgecolor": _LINE,
    "axes.labelcolor": _SOFT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": _SOFT,
    "ytick.color": _SOFT,
    "text.color": _SOFT,
    "grid.color": _LINE,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8,
}
_LONGEST = 32
_MARKED = 12
"""Curves of at most as many points show each of them."""


def draw(panel: Panel) -> Markup:
    """Return a panel as SVG; empty if it has no curves.

    Raises:
        MissingExtra: matplotlib is not installed; the message holds the command.
    """
    if not panel:
        return Markup("")
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "train") from None
    with rc_context({**_SETTINGS, "svg.hashsalt": panel.name}):
        figure = Figure(figsize=(6.0, 3.1))
        # A layout engine would draw everything twice; what is left of an axis is known here.
        axes = figure.add_axes((0.1, 0.15, 0.885 - _legend_width(panel), 0.82))
        if panel.kind == "stack":
            _stack(axes, panel.curves)
        else:
            _lines(axes, panel)
        _dress(axes, panel)
        stream = io.StringIO()
        figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None})
    return _inline(stream.getvalue(), panel)


def _has_legend(panel: Panel) -> bool:
    return len(panel.curves) > 1 or panel.kind == "stack"


def _legend_width(panel: Panel) -> float:
    """Return the part of a plot's width that the legend takes."""
    longest = max(len(_label(found)) for found in panel.curves)
    return 0.09 + 0.0115 * longest if _has_legend(panel) else 0.0


def _lines(axes: Axes, panel: Panel) -> None:
    for number, found in enumerate(panel.faint):
        axes.plot(found.updates, found.values, color=_colour(number), linewidth=0.7, alpha=0.35)
    for number, found in enumerate(panel.curves):
        colour = _colour(number)
        if found.errors is not None:
            low, high = found.values - found.errors, found.values + found.errors
            axes.fill_between(found.updates, low, high, color=colour, alpha=0.18, linewidth=0)
        axes.plot(
            found.updates,
            found.values,
            color=colour,
            linewidth=1.7,
            linestyle=_DASHES[number % len(_DASHES)],
            marker="o" if found.values.size <= _MARKED else None,
            markersize=3.5,
            label=_label(found),
        )
    if panel.mark is not None:
        axes.axhline(panel.mark, color=_SOFT, linewidth=0.9, linestyle=(0, (4, 3)))


def _stack(axes: Axes, curves: Sequence[Curve]) -> None:
    updates = curves[0].updates
    rows = np.array([found.values for found in curves])
    if updates.size == 1:
        updates, rows = np.array([updates[0] - 0.5, updates[0] + 0.5]), np.repeat(rows, 2, axis=1)
    colours = [_colour(number) for number in range(len(curves))]
    areas = axes.stackplot(
        updates, rows, labels=[_label(found) for found in curves], colors=colours, alpha=0.75
    )
    for number, area in enumerate(areas):
        area.set_hatch(("", "//", "..", "\\\\", "xx")[number % 5])
        area.set_edgecolor(_LINE)
        area.set_linewidth(0.0)
    axes.set_ylim(0.0, 1.0)


def _dress(axes: Axes, panel: Panel) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

    axes.set_xlabel(panel.across)
    if panel.across != "update":
        axes.xaxis.set_major_formatter(FuncFormatter(_thousands))
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.margins(x=0.01)
    low, high = axes.get_xlim()
    if high - low < 1.0:
        axes.set_xlim(low - 0.5, high + 0.5)
    axes.grid(visible=True, axis="y")
    axes.set_axisbelow(True)
    if panel.unit == "log" and all((found.values > 0).all() for found in panel.curves):
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
    elif panel.unit == "share":
        axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g} %"))
        if panel.kind == "lines":
            low, high = axes.get_ylim()
            axes.set_ylim(max(0.0, low), max(0.01, min(1.0, high)))
    elif max(map(abs, axes.get_ylim())) >= 10_000:
        axes.yaxis.set_major_formatter(FuncFormatter(_thousands))
    if _has_legend(panel):
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.02), handlelength=2.6)


def _thousands(value: float, _: int) -> str:
    return f"{value / 1e6:g} M" if abs(value) >= 1e6 else f"{value / 1e3:g} k"


def _label(found: Curve) -> str:
    # A leading underscore would hide it, and what models wrote may hold anything.
    return clean(found.name)[:_LONGEST].lstrip("_") or "?"


def _colour(number: int) -> str:
    return _CURVE[number % COLOURS]


def _inline(document: str, panel: Panel) -> Markup:
    """Make a matplotlib document a part of the page: no prolog, no metadata, its own names."""
    svg = document[document.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.S)
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)
    svg = re.sub(r"#0a0[bc][0-9a-f]{2}", lambda found: _VARIABLES.get(found[0], found[0]), svg)
    svg = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", svg, flags=re.S)
    svg = re.sub(r"font-family: [^;\"]*;? ?", "", svg)
    svg = re.sub(r' d="[^"]*"', _shorter, svg)
    box = re.search(r'viewBox="[\d. ]+"', svg)
    label = f"{panel.title}: {', '.join(map(_label, panel.curves))}"
    head = (
        f'<svg class="plot" {box[0] if box else ""} role="img" aria-label="{escape(label)}" '
        'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
    )
    body = svg[svg.index(">") + 1 :]
    return Markup(head + f"<title>{escape(label)}</title>" + body)  # noqa: S704 - matplotlib escapes


def _shorter(path: re.Match[str]) -> str:
    """Write the points of a path to a tenth of a pixel."""
    return re.sub(r"(\.\d)\d+", r"\1", " ".join(path[0].split())).replace('d="', ' d="', 1)


def percent(value: float) -> str:
    """Return a share as `43.2 %`; `–` if it is not finite."""
    return f"{100 * value:.1f} %" if math.isfinite(value) else "–"
