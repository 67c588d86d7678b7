"""What a run of checks looks like to people and to programs: entries, JSON, and an HTML page."""
