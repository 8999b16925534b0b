"""Analysis: what a spec alone tells, without Spark and without data.

May import: errors, spans, spec, values. Imported by: admin, audit, checks, cli, contracts,
dataflow, ops, overview, pages, rebuild, repair, runs, sluice_airflow, steps.
Never here: a path, a setting or a broker.
"""
