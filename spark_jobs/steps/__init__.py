"""Steps: the steps of a pipeline as Spark operators, one file for each; chain.py applies them in
order.

May import: decode, errors, registry, side, source, spec, values. Imported by: audit, dataflow,
rejected, repair, runs, sink, state, where.
Never here: a path, a table or a run.
"""
