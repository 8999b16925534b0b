"""Launch: submits a run, makes its Spark session, watches its executors and the processes around
it.

May import: checkpoint, errors, fingerprint, messages, pinned, registry, root, settings, spec,
values. Imported by: cli, install, main, proof, repair, runs, sluice_airflow, state, warm.
Never here: what a run does.
"""
