"""`python -m spade_train` is `spade-train`."""

from spade_entry import train

if __name__ == "__main__":
    train()
