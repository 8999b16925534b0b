"""Overview: all pipelines, each with its worst trouble and what to do about it.

May import: checkpoint, errors, messages, ops, registry, repair, spec, storage. Imported by:
sluice_airflow.
Never here: Spark, a JVM, Airflow, or a value of a record.
"""
