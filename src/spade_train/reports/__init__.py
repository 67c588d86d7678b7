"""Pages and tables of finished and running runs."""
