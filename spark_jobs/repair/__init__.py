"""Repair: a part of a table computed again from its records: planner, stage, swap, undo. unit/ has
what differs between ranges, sessions and keys; find/, offsets/, compute/, exchange/ what does not.

May import: checkpoint, checks, dataflow, decode, errors, journal, launch, messages, ops, registry,
rejected, runs, settings, side, sink, source, spec, steps, storage, table, values. Imported by:
admin, cli, excise, overview, pages, proof, prove, sluice_airflow, where.
Never here: the live checkpoint's state, which a repair never touches.
"""
