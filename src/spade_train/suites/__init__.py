"""Benchmarks behind one interface: tasks, sessions that a policy plays, and scores."""
