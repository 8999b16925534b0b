"""Steps: the operators of a pipeline in Spark, one file a step; chain.py puts them one after another."""
