"""Warm: a worker on the machine that starts runs. It keeps a JVM and what Python has imported, and
takes one drain at a time over a local socket. Here is what its clients need; inside/ is the
worker's own.

May import: errors, failpoint, launch, registry, root, settings. Imported by: cli, main, proof,
sluice_airflow.
Never here: what a drain does.
"""
