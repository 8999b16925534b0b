"""Pinned: what every run has the same, so that results do not depend on the machine.

May import: nothing. Imported by: fingerprint, launch, spec.
Never here: what anybody may set.
"""
