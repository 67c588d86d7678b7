"""Co-evolution: what each update designs, plays and trains, and everything that evolves."""
