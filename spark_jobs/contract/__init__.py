"""What Airflow and Spark agree on. Imports neither pyspark, delta, pandas nor great_expectations, so that DAG files parse fast."""
