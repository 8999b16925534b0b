"""Triggers: what Airflow's triggerer runs."""
