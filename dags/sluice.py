"""Every pipeline's DAGs, every archive's, and the one that maintains the tables."""

from spark_jobs.airflow import dags

globals().update(dags())
