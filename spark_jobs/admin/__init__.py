"""Admin: commands that change what runs have written.

Each shows its changes first, and makes them with --execute.
"""
