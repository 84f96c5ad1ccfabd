"""What the papers behind this project state, beside what is simulated here."""
