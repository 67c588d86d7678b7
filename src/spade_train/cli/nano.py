"""`spade-train nano`: the bundled tiny model."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from spade_envs.types import COGNITIVE_SKILLS, EnvKind, Skill

if TYPE_CHECKING:
    from spade_train.nano.families.form import Challenge


@click.group("nano")
def nano_command() -> None:
    """The bundled tiny model."""


@nano_command.command("sample")
@click.option(
    "--count",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Programs to write.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option(
    "--skill",
    type=click.Choice([skill.value for skill in Skill]),
    default=Skill.MATHEMATICAL_REASONING.value,
)
@click.option("--challenge", type=click.Choice(["easy", "medium", "hard"]), default="medium")
@click.option("--about", default="", help="Text that the program is to be about.")
@click.option(
    "--temperature", type=click.FloatRange(min=0.0, max=100.0), default=0.8, show_default=True
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array of programs.")
def sample_command(
    count: int,
    seed: int,
    skill: str,
    challenge: str,
    about: str,
    temperature: float,
    as_json: bool,
) -> None:
    """Write programs with the tiny model and print them, unchecked."""
    from spade_train.nano.designer import NanoDesigner
    from spade_train.nano.programs import condition_of

    if math.isnan(temperature):
        raise click.UsageError("--temperature needs a number")
    wanted = Skill(skill)
    kind: EnvKind = "text" if wanted in COGNITIVE_SKILLS else "tool"
    condition = condition_of(wanted, kind, cast("Challenge", challenge), about)
    codes = NanoDesigner().programs([condition] * count, seed=seed, temperature=temperature)
    click.echo(json.dumps(codes, indent=2) if as_json else "\n\n".join(codes))


@nano_command.command("bootstrap")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Folder to write.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option(
    "--steps",
    type=click.IntRange(min=1),
    help="Optimizer steps; the default makes the bundled weights.",
)
@click.option("--layers", type=click.IntRange(min=2), default=4, show_default=True)
@click.option("--inner", type=click.IntRange(min=1), default=336, show_default=True, help="Width.")
@click.option(
    "--samples",
    type=click.IntRange(min=0),
    default=96,
    show_default=True,
    help="Programs to judge at the end.",
)
@click.option(
    "--episodes",
    type=click.IntRange(min=0),
    default=25,
    show_default=True,
    help="Episodes to play per cell.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what was measured as JSON.")
def bootstrap_command(
    out: Path,
    seed: int,
    steps: int | None,
    layers: int,
    inner: int,
    samples: int,
    episodes: int,
    as_json: bool,
) -> None:
    """Train the tiny model from nothing and write its weights."""
    from spade_train.cli.needs import need_training
    from spade_train.nano.bootstrap import bootstrap
    from spade_train.nano.train import Settings

    need_training(("torch", "transformers", "tokenizers", "safetensors"))
    steps = Settings().steps if steps is None else steps
    settings = Settings(seed=seed, steps=steps, layers=layers, inner=inner)
    written = bootstrap(settings, out, samples=samples, episodes=episodes)
    click.echo(json.dumps(written, indent=None if as_json else 2))
