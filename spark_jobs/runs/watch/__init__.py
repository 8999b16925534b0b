"""Watch: a run's progress, and whether it still moves.

Never here: a change of what it watches, but for its end.
"""
