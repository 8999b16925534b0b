"""Sluice in Airflow: a DAG for each pipeline, the operators of its tasks, and the retry rules."""
