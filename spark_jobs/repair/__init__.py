"""Repair: a part of a table computed again from its records: planner, stage, swap, undo. unit/ has
what differs between ranges, sessions and keys; find/, offsets/, compute/, exchange/ what does not.

May import: analysis, audit, checkpoint, checks, classify, dataflow, decode, errors, failpoint,
fingerprint, journal, launch, messages, ops, registry, root, runs, settings, side, sink, source,
spans, spec, steps, stopping, storage, table, values. Imported by: admin, cli, main, overview,
pages, proof, rebuild, sluice_airflow.
Never here: the live checkpoint's state, which a repair never touches.
"""
