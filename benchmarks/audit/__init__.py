"""A second look at what the gates say of other people's environments; see docs/audit.md."""
