"""OpenLineage: what Airflow's provider tells of Sluice's tasks. Only operator.py is imported when a
DAG is parsed; the others load the OpenLineage client.
"""
