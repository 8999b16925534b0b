"""Pinned: what every run has the same, so that results do not depend on the machine.

May import: nothing. Imported by: contracts, fingerprint, install, launch, schemas, spec.
Never here: what anybody may set.
"""
