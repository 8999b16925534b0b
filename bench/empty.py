"""An empty script for spark-submit: the least that a run with nothing to do costs whoever asks
Spark whether there is any.
"""
