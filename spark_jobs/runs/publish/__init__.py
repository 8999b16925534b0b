"""Publish: what consumers are told of, and what with it.

Never here: how Airflow tells it.
"""
