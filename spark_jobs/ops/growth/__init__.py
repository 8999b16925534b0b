"""Growth: the state after each run, how fast it grows, and when it reaches its budget."""
