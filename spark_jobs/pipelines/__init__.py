"""Pipelines: one folder for each, with spec.py, and logic.py if it has its own code.

May import: spec, topics. Imported by: nobody: the registry finds them by name.
Never here: code that several pipelines need and that is no topic.
"""
