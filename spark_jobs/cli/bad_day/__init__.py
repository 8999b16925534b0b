"""Commands for the days on which a number is wrong: since when, and what another delay costs."""
