"""Projects as a user would have them."""
