"""What Airflow and Spark agree on.

It imports no pyspark, delta, pandas or great_expectations: DAG files must parse fast.
"""
