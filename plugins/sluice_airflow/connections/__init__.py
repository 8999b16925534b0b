"""Airflow's connections, read without their providers."""
