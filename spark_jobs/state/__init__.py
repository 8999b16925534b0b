"""State: reads the state of a pipeline's stateful steps from the checkpoint, and formats it for a
terminal.

May import: errors, messages, spec, steps, storage, values. Imported by: audit, runs.
Never here: a write to state.
"""
