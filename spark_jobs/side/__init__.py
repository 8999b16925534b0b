"""Side: the port of a table beside the stream: its versions, and the rows of one.

May import: settings, spec. Imported by: checkpoint, dataflow, ops, repair, runs.
Never here: which version a batch has; checkpoint/pins.py notes it.
"""
