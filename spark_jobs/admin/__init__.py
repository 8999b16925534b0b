"""Admin: commands that change what a run has left, shown first and done with --execute."""
