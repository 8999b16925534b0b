"""The settings of an installation, and their one declaration."""
