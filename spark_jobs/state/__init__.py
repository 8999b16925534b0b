"""State: reads the state of a pipeline's stateful steps from the checkpoint, and formats it for a
terminal.

May import: checkpoint, errors, journal, launch, messages, registry, settings, spec, steps,
storage, values. Imported by: audit, cli, pages, runs, sluice_airflow.
Never here: a write to state.
"""
