"""The `spade-envs` command: one module per group of commands, only click at their tops."""
