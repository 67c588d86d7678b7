"""`python -m spade_envs` is `spade-envs`."""

from spade_entry import envs

if __name__ == "__main__":
    envs()
