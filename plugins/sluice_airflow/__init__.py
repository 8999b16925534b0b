"""Sluice as Airflow sees it: a DAG for each pipeline, the operators of its tasks, and which failures are tried again."""
