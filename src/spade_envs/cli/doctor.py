"""`doctor`: what this machine offers, layer by layer and extra by extra."""

from __future__ import annotations

import sys

import click

from spade_envs.cli.stores import json_option

_EXTRAS = {
    "client": ("openai",),
    "nano": ("torch", "transformers"),
    "embed": ("sentence-transformers",),
    "train": ("torch", "transformers", "trl", "accelerate"),
    "vllm": ("vllm",),
}


@click.command("doctor")
@json_option
def doctor_command(as_json: bool) -> None:
    """Say which isolation layers are active; exit code 3 if untrusted code cannot run here."""
    from spade_envs.cli.main import MACHINERY
    from spade_envs.cli.output import echo_json, print_table
    from spade_envs.sandbox import active_layers
    from spade_envs.store import default_path, discover, starter_path

    layers = active_layers()
    missing = [layer.name for layer in layers if layer.required and not layer.active]
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
                "yes" if layer.required else "no",
                layer.note,
            )
            for layer in layers
        ]
        print_table("Isolation", ("layer", "state", "required", "note"), rows)
        print_table("Extras", ("extra", "installed"), [(k, _told(v)) for k, v in extras.items()])
        known = {path.resolve() for path in discover()}
        print_table(
            "Stores",
            ("store", "path", "state"),
            [(n, p, "there" if p and p.resolve() in known else "none") for n, p in stores.items()],
        )
        click.echo(f"missing: {', '.join(missing)}" if missing else "generated code can run here")
    if missing:
        sys.exit(MACHINERY)


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
