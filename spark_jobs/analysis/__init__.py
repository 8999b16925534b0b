"""Analysis: what a spec alone tells, without Spark and without data.

May import: errors, spans, spec, values. Imported by: any room above.
Never here: a path, a setting or a broker.
"""
