"""The views in Airflow's UI: an app that Airflow mounts, its rights, its routes and its pages."""
