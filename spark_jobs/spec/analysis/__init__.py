"""Analysis: what a spec alone tells, without Spark and without data.

Never here: a path, a setting or a broker.
"""
