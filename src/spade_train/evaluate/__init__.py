"""Evaluation: who plays a suite, what is kept of it, and the tables made of that."""
