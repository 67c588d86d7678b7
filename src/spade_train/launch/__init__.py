"""From a configuration to a running trainer: engine, loop and trainer are put together here."""
