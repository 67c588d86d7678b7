"""The picture of a store: its environments as points, near ones near, and a table below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from spade_envs._version import __version__
from spade_envs.memory.memory import Memory
from spade_envs.memory.picture import nearest_of_each, plane_of
from spade_envs.reports.figures import SHAPES
from spade_envs.reports.page import environment
from spade_envs.reports.visible import clean
from spade_envs.store.plays import Figures
from spade_envs.types import Json, Record, Skill

MAX_POINTS = 2000
"""Most points of a picture; of more environments, evenly many are left out."""
MAX_ROWS = 500
NEAR_DUPLICATE = 0.9
_WIDTH, _HEIGHT, _MARGIN = 900, 560, 24
_SHAPES = tuple(SHAPES)
_SKILLS = (*map(str, Skill), "other")


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One environment in the picture."""

    record: Record
    x: float
    y: float
    nearest: str | None
    """Id of the nearest other environment in the picture."""
    similarity: float | None
    figures: Figures

    @property
    def skill(self) -> str:
        """The first skill that is one of ours, else `other`."""
        return next((skill for skill in self.record.skills if skill in _SKILLS), "other")

    def as_json(self) -> dict[str, Json]:
        """Return the point as plain JSON."""
        return {
            "id": self.record.id,
            "x": self.x,
            "y": self.y,
            "nearest": self.nearest,
            "similarity": self.similarity,
            "skills": list(self.record.skills),
            "plays": self.figures.plays,
            "success": self.figures.success,
            "regret": self.figures.regret,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreMap:
    """Everything that the picture shows."""

    store: str
    embedder: str
    points: tuple[Point, ...]
    left_out: int
    share: float
    """Part of the differences between the environments that the plane shows, in [0, 1]."""


def map_of(memory: Memory, figures: Mapping[str, Figures]) -> StoreMap:
    """Return the picture of a store's memory, refreshed before.

    Args:
        memory: whose environments are shown.
        figures: what their plays came to, by digest.
    """
    everything = sorted(memory.records, key=lambda record: record.id)
    step = max(1, -(-len(everything) // MAX_POINTS))
    records = everything[::step]
    rows = memory.rows(record.digest for record in records)
    plane = plane_of(rows)
    alone = len(records) < 2
    places, cosines = ([], []) if alone else (a.tolist() for a in nearest_of_each(rows))
    points = tuple(
        Point(
            record=record,
            x=round(float(plane.points[number, 0]), 4),
            y=round(float(plane.points[number, 1]), 4),
            nearest=None if alone else records[places[number]].id,
            similarity=None if alone else round(cosines[number], 4),
            figures=figures.get(record.digest, Figures()),
        )
        for number, record in enumerate(records)
    )
    return StoreMap(
        store=str(memory.store.root),
        embedder=str(memory.fingerprint),
        points=points,
        left_out=len(everything) - len(records),
        share=plane.share,
    )


def render_map(found: StoreMap, *, made_at: str) -> str:
    """Return the picture as one HTML document without scripts, UTF-8 when encoded.

    Args:
        found: what to show.
        made_at: when it was made, as text for people.
    """
    used = [skill for skill in _SKILLS if any(point.skill == skill for point in found.points)]
    pairs = [
        point
        for point in found.points
        if point.similarity is not None and point.similarity >= NEAR_DUPLICATE
    ]
    return (
        environment()
        .get_template("map.html")
        .render(
            made_at=made_at,
            version=__version__,
            found=found,
            picture=_picture(found.points),
            legend=[(skill, _mark(skill), _count(found.points, skill)) for skill in used],
            pairs=sorted(pairs, key=lambda point: -(point.similarity or 0))[:MAX_ROWS],
            near_duplicate=NEAR_DUPLICATE,
            rows=found.points[:MAX_ROWS],
        )
    )


def _count(points: Sequence[Point], skill: str) -> int:
    return sum(point.skill == skill for point in points)


def _class(skill: str) -> str:
    number = _SKILLS.index(skill)
    return f"hue{number // len(_SHAPES)}"


def _shape(skill: str) -> str:
    return SHAPES[_SHAPES[_SKILLS.index(skill) % len(_SHAPES)]]


def _mark(skill: str) -> Markup:
    return Markup(  # noqa: S704 - our own shapes
        f'<svg class="key {_class(skill)}" viewBox="-7 -7 14 14" aria-hidden="true">'
        f'<path d="{_shape(skill)}"/></svg>'
    )


def _picture(points: Sequence[Point]) -> Markup:
    """Return the points as SVG; each says its name, and those in the table lead there."""
    if not points:
        return Markup("")
    xs, ys = [point.x for point in points], [point.y for point in points]
    scale = min(
        (_WIDTH - 2 * _MARGIN) / max(max(xs) - min(xs), 1e-9),
        (_HEIGHT - 2 * _MARGIN) / max(max(ys) - min(ys), 1e-9),
        1e4,
    )
    middle_x, middle_y = (max(xs) + min(xs)) / 2, (max(ys) + min(ys)) / 2
    parts = []
    for number, point in enumerate(points):
        x = _WIDTH / 2 + (point.x - middle_x) * scale
        y = _HEIGHT / 2 - (point.y - middle_y) * scale
        label = escape(clean(f"{point.record.id}: {point.record.summary or point.record.title}"))
        mark = (
            f'<g class="{_class(point.skill)}"><title>{label}</title>'
            f'<path transform="translate({x:.1f} {y:.1f})" d="{_shape(point.skill)}"/></g>'
        )
        parts.append(f'<a href="#e{number}">{mark}</a>' if number < MAX_ROWS else mark)
    return Markup(  # noqa: S704 - numbers, our own shapes and escaped labels
        f'<svg class="map" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="environments as points">{"".join(parts)}</svg>'
    )
