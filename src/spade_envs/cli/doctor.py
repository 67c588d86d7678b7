"""`doctor`: what this machine offers, layer by layer and extra by extra."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spade_envs.cli.stores import json_option

if TYPE_CHECKING:
    from spade_envs.sandbox.layers import LayerStatus

_EXTRAS = {
    "client": ("openai",),
    "nano": ("torch", "transformers"),
    "embed": ("sentence-transformers",),
    "train": ("torch", "transformers", "trl", "accelerate"),
    "vllm": ("vllm",),
    "ray": ("ray",),
    "data": ("pyarrow", "datasets", "rensa", "py3langid"),
    "hub": ("huggingface_hub", "fsspec"),
    "eval": ("reasoning-gym", "textarena"),
}


@click.command("doctor")
@json_option
def doctor_command(as_json: bool) -> None:
    """Say which isolation layers are active; exit code 3 if untrusted code cannot run here."""
    from spade_envs.cli.main import MACHINERY
    from spade_envs.cli.output import echo_json, print_table
    from spade_envs.sandbox import active_layers
    from spade_envs.sandbox.layers import REQUIRED
    from spade_envs.sandbox.layers import missing as lacking
    from spade_envs.store import default_path, discover, starter_path

    layers = active_layers()
    missing = lacking((layer.name for layer in layers if layer.active), REQUIRED)
    stores = {"default": default_path(), "starter": starter_path()}
    extras = {extra: _versions(names) for extra, names in _EXTRAS.items()}
    if as_json:
        echo_json(
            {
                "isolation": "unavailable" if missing else "available",
                "layers": layers,
                "extras": extras,
                "stores": {name: str(path) for name, path in stores.items()},
            }
        )
    else:
        rows = [
            (
                layer.name,
                "active" if layer.active else "missing",
                _required(layer),
                layer.note,
            )
            for layer in layers
        ]
        print_table("Isolation", ("layer", "state", "required", "note"), rows)
        print_table("Extras", ("extra", "installed"), [(k, _told(v)) for k, v in extras.items()])
        known = {os.path.realpath(path) for path in discover()}
        print_table(
            "Stores",
            ("store", "path", "state"),
            [
                (n, p, "there" if p and os.path.realpath(p) in known else "none")
                for n, p in stores.items()
            ],
        )
        if _same(*stores.values()):
            click.echo("default and starter store are the same; name your own with --store")
        click.echo(f"missing: {'; '.join(missing)}" if missing else "generated code can run here")
    if missing:
        sys.exit(MACHINERY)


def _same(one: Path | None, other: Path | None) -> bool:
    return (
        one is not None and other is not None and os.path.realpath(one) == os.path.realpath(other)
    )


def _required(layer: LayerStatus) -> str:
    """Say whether a layer is required; of Landlock and namespaces with an empty root, one is."""
    from spade_envs.sandbox.layers import EMPTY_ROOT, LANDLOCK, NAMESPACES

    if layer.required:
        return "yes"
    either = {LANDLOCK: NAMESPACES, NAMESPACES: LANDLOCK, EMPTY_ROOT: LANDLOCK}
    return f"this or {either[layer.name]}" if layer.name in either else "no"


def _versions(names: tuple[str, ...]) -> dict[str, str | None]:
    from importlib.metadata import PackageNotFoundError, version

    found: dict[str, str | None] = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


def _told(versions: dict[str, str | None]) -> str:
    return ", ".join(f"{name} {version or 'missing'}" for name, version in versions.items())
