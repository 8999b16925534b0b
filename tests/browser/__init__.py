"""The views and Airflow's forms in a real browser, where one is installed."""
