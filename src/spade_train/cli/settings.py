"""`spade-train config` and `presets`: what a run is decided by."""

from __future__ import annotations

import json

import click


@click.command("config")
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


@click.command("presets")
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
