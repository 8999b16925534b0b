"""The steps of a pipeline as declarations, one file a step.

Specs import them from spark_jobs.contract.steps.
"""
