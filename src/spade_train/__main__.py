"""`python -m spade_train` is `spade-train`."""

from spade_train.cli import main

main(prog_name="spade-train")
