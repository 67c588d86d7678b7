"""The planted-defect suite: sound environments, one planted defect each, and who notices it."""
