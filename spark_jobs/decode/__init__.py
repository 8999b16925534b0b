"""Decode: bytes to typed columns. Keeps the raw bytes of records that may be rejected.

May import: errors, ops, settings, source, spec, storage, values. Imported by: census, cli,
dataflow, draft, files, proof, rejected, repair, runs, sluice_airflow, steps, where.
Never here: a broker, or what is done about a bad record.
"""
