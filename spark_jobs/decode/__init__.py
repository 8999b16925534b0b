"""Decode: bytes to typed columns. Keeps the raw bytes of records that may be rejected.

May import: errors, messages, ops, schemas, settings, source, spans, spec, times, values. Imported
by: audit, classify, cli, dataflow, draft, proof, repair, runs, sluice_airflow.
Never here: a broker, or what is done about a bad record.
"""
