"""Co-evolution training over the environments of spade_envs."""
