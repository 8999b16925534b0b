"""State: reads the state of a pipeline's stateful steps from the checkpoint, and formats it for a
terminal.

May import: any room below. Imported by: any room above.
Never here: a write to state.
"""
