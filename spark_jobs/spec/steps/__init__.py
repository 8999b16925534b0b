"""The steps of a pipeline as declarations, one file a step.

Never here: their Spark code, which is in steps/.
"""
