"""Repair: ranges of a table computed again from their records. find/ and offsets/ plan it,
compute/ stages its rows, exchange/ swaps them in.

May import: analysis, audit, checkpoint, checks, classify, dataflow, decode, errors, failpoint,
fingerprint, journal, launch, messages, ops, registry, root, runs, settings, side, sink, source,
spans, spec, steps, stopping, storage, table, values. Imported by: admin, cli, main, overview,
pages, rebuild, sluice_airflow.
Never here: the live checkpoint's state, which a repair never touches.
"""
