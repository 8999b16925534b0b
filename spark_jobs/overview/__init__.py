"""Overview: all pipelines, each with its worst trouble and what to do about it.

May import: analysis, checkpoint, errors, journal, messages, ops, registry, repair, root, spans,
spec. Imported by: sluice_airflow.
Never here: Spark, a JVM, Airflow, or a value of a record.
"""
