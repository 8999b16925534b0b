"""Telling a person: of what, by which channel, and not for ever."""
