"""State: reads the state of a pipeline's stateful steps from the checkpoint, and formats it for a
terminal. Writes nothing.
"""
