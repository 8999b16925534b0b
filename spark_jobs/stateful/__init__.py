"""The steps of a pipeline in Spark, one file a step, and chain.py, which puts them one after another."""
