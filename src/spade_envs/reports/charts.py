"""Charts of many numbers, as inline SVG: a histogram, and a bar for a share of a whole.

Only numbers that were checked go into the markup.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 420, 130, 34, 8, 36


def share_bar(share: float) -> Markup:
    """Return a bar of this share of its track, in [0, 1]."""
    wide = 196 * min(1.0, max(0.0, share))
    return Markup(  # noqa: S704 - numbers only
        '<svg class="bar" viewBox="0 0 200 16" aria-hidden="true">'
        '<rect class="track" x="2" y="6" width="196" height="4" rx="2"/>'
        f'<rect class="fill" x="2" y="6" width="{wide:.1f}" height="4" rx="2"/></svg>'
    )


def histogram(counts: Sequence[int], low: float, high: float, label: str) -> Markup:
    """Return a histogram of equal parts; empty if nothing was counted.

    Args:
        counts: how many in each part, >= 0.
        low: where the first part begins.
        high: where the last one ends.
        label: what was measured.
    """
    top = max(counts, default=0)
    if top <= 0:
        return Markup("")
    step = _WIDTH / len(counts)
    parts = [
        f'<path class="grid" d="M{_LEFT} {_y(share):.1f}H{_LEFT + _WIDTH}"/>'
        f'<text x="{_LEFT - 5}" y="{_y(share) + 4:.1f}" text-anchor="end">{top * share:g}</text>'
        for share in (0.0, 1.0)
    ]
    for number, count in enumerate(counts):
        ends = [low + (high - low) * (number + side) / len(counts) for side in (0, 1)]
        x, y = _LEFT + step * number, _y(count / top)
        told = f"{ends[0]:.2f} to {ends[1]:.2f}: {count}"
        parts.append(
            f"<g><title>{told}</title>"
            f'<rect class="column" x="{x + 1:.1f}" y="{y:.1f}" width="{step - 2:.1f}" '
            f'height="{_TOP + _HEIGHT - y:.1f}"/></g>'
        )
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(
            f'<text x="{_LEFT + _WIDTH * share:.1f}" y="{_TOP + _HEIGHT + 14}" '
            f'text-anchor="middle">{low + (high - low) * share:g}</text>'
        )
    name = escape(label)
    middle = _LEFT + _WIDTH / 2
    parts.append(f'<text x="{middle}" y="{_TOP + _HEIGHT + 30}" text-anchor="middle">{name}</text>')
    size = (_LEFT + _WIDTH + 14, _TOP + _HEIGHT + _BOTTOM)
    return Markup(  # noqa: S704 - numbers and an escaped label
        f'<svg class="levels" viewBox="0 0 {size[0]} {size[1]}" width="{size[0]}" role="img" '
        f'aria-label="{name}">{"".join(parts)}</svg>'
    )


def _y(share: float) -> float:
    return _TOP + _HEIGHT * (1 - share)
