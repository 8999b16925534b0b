"""Pipelines: one folder for each, with spec.py, and logic.py if it has its own code.

May import: spec, topics. Imported by: no room.
Never here: code that several pipelines need and that is no topic.
"""
