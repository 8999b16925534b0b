"""Inside the worker: what runs in its process.

Never here: what a client imports.
"""
