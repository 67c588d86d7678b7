"""Benchmarks: each compares contenders in one run and holds the ratio against a stated bar."""
