"""Fingerprint: what stored state depends on, of the spec, of its code, and of what surrounds both;
and which change of it a checkpoint survives.

May import: errors, pinned, registry, settings, spec, values. Imported by: checkpoint, cli,
contracts, install, launch, rebuild, repair, runs, state, steps.
Never here: where it is stored, which checkpoint knows.
"""
