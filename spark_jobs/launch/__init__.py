"""Launch: submits a run, makes its Spark session, watches its executors and the processes around
it.

May import: checkpoint, errors, messages, registry, settings, source, spec, storage, values.
Imported by: cli, excise, install, main, proof, repair, runs, sink, sluice_airflow, state, where.
Never here: what a run does.
"""
