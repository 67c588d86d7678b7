"""`python -m spade_envs` is `spade-envs`."""

from spade_envs.cli.main import main

if __name__ == "__main__":
    main()
