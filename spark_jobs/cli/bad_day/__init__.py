"""Commands for bad days: since when a number is wrong, a delay's price, a release taken out."""
