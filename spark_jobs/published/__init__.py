"""Published: the table of judged rows, which only the task `publish` moves.

May import: checkpoint, errors, failpoint, root, sink, table, values. Imported by: admin, runs.
Never here: a row of its own: it names the files of the pipeline's table.
"""
