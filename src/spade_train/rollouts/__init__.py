"""Rollouts of both roles: programs that are written and certified, episodes that are played."""
