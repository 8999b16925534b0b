"""One folder for each pipeline: spec.py, and logic.py if it has its own code."""
