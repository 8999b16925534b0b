"""Warm: workers on the machine that starts runs. Each keeps a JVM and what Python has imported, and
takes one run at a time over a local socket. Here is what its clients need; inside/ is the
worker's own.

May import: errors, failpoint, launch, messages, registry, root, settings. Imported by: cli,
install, main, proof, sluice_airflow.
Never here: what a drain does.
"""
