"""The door for a file in Airflow's DAGs folder:

    from spark_jobs.airflow import dags

    globals().update(dags())

It needs Airflow, and the plugin that comes with Sluice.
"""

from sluice_airflow.dags.all import dags

__all__ = ["dags"]
