"""What Airflow and Spark agree on. Imports neither pyspark, delta, pandas nor great_expectations: DAG files must parse fast."""
