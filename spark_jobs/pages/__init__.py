"""What a person sees of a pipeline: the figures of its charts, their templates and their style.

The views in Airflow's UI and `sluice report` share them. No Spark, no JVM, no script.
"""
