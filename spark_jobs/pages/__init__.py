"""Pages: what a person sees of a pipeline: the figures of its charts, their templates and their
style. The views in Airflow's UI and `sluice report` share them.

May import: checkpoint, errors, messages, ops, repair, spec, storage, values. Imported by: cli,
sluice_airflow.
Never here: Spark, a JVM, or a script.
"""
