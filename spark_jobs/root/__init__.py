"""The root: its paths, its object store, and files that are written whole or not at all."""
