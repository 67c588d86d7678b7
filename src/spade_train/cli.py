"""`spade-train`: commands of the training package."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from spade_envs.errors import SpadeError
from spade_envs.types import COGNITIVE_SKILLS, EnvKind, Skill

if TYPE_CHECKING:
    from spade_train.nano.families.form import Challenge


class _Talking(click.Group):
    """A group that ends with one line on errors that were raised on purpose."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except SpadeError as error:
            click.echo(f"error: {error}", err=True)
            sys.exit(2)


@click.group(cls=_Talking, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Train designers and agents on environments from spade-envs."""


@main.command("config")
@click.argument("what", metavar="PRESET|FILE")
@click.option("--overlay", "overlays", multiple=True, help="Apply an ablation or baseline by name.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Set one key: a.b=c.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--plain", is_flag=True, help="Print TOML without comments.")
def config_command(
    what: str, overlays: tuple[str, ...], settings: tuple[str, ...], as_json: bool, plain: bool
) -> None:
    """Show the resolved configuration of a run, every key with its meaning, as TOML."""
    from spade_train.config import resolve, to_toml

    config = resolve(what, overlays=overlays, settings=settings)
    if as_json:
        click.echo(json.dumps(config.model_dump(mode="json"), indent=2))
    else:
        click.echo(to_toml(config, comments=not plain), nl=False)


@main.command("presets")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def presets_command(as_json: bool) -> None:
    """List the bundled presets, and the overlays that go on top of them."""
    from spade_train.config import overlays, presets

    kinds = {"preset": presets(), "overlay": overlays()}
    rows = [
        {"kind": kind, "name": name, "about": layer.about}
        for kind, layers in kinds.items()
        for name, layer in layers.items()
        if not name.startswith("_")
    ]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    for kind in kinds:
        click.echo(f"{kind}s")
        for row in rows:
            if row["kind"] == kind:
                click.echo(f"  {row['name']:<22}{row['about']}")


@main.group()
def nano() -> None:
    """The bundled tiny model."""


@nano.command("sample")
@click.option("--count", default=1, show_default=True, help="Programs to write.")
@click.option("--seed", default=0, show_default=True)
@click.option(
    "--skill",
    type=click.Choice([skill.value for skill in Skill]),
    default=Skill.MATHEMATICAL_REASONING.value,
)
@click.option("--challenge", type=click.Choice(["easy", "medium", "hard"]), default="medium")
@click.option("--about", default="", help="Text that the program is to be about.")
@click.option("--temperature", default=0.8, show_default=True)
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

    wanted = Skill(skill)
    kind: EnvKind = "text" if wanted in COGNITIVE_SKILLS else "tool"
    condition = condition_of(wanted, kind, cast("Challenge", challenge), about)
    codes = NanoDesigner().programs([condition] * count, seed=seed, temperature=temperature)
    click.echo(json.dumps(codes, indent=2) if as_json else "\n\n".join(codes))


@nano.command("bootstrap")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder to write.")
@click.option("--seed", default=0, show_default=True)
@click.option("--steps", type=int, help="Optimizer steps; the default makes the bundled weights.")
@click.option("--samples", default=96, show_default=True, help="Programs to judge at the end.")
@click.option("--json", "as_json", is_flag=True, help="Print what was measured as JSON.")
def bootstrap_command(out: Path, seed: int, steps: int | None, samples: int, as_json: bool) -> None:
    """Train the tiny model from nothing and write its weights."""
    from spade_train.nano.bootstrap import bootstrap
    from spade_train.nano.train import Settings

    settings = Settings(seed=seed) if steps is None else Settings(seed=seed, steps=steps)
    written = bootstrap(settings, out, samples=samples)
    click.echo(json.dumps(written, indent=None if as_json else 2))
