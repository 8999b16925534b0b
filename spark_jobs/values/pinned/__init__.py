"""Pinned: what every run has the same, so that results do not depend on the machine.

Never here: what anybody may set.
"""
