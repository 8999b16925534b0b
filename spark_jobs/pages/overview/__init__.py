"""Overview: all pipelines, each with its worst trouble and what to do about it.

Never here: Spark, a JVM, Airflow, or a value of a record.
"""
