"""One folder, one pipeline: spec.py, and logic.py where it has state of its own."""
