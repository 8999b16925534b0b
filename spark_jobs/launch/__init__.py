"""Launch: submits a run, makes its Spark session, watches its executors and the processes around
it.

May import: checkpoint, errors, messages, registry, settings, spec, storage, values. Imported by:
cli, excise, install, main, proof, repair, runs, sluice_airflow, where.
Never here: what a run does.
"""
