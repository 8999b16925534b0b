"""Steps: the steps of a pipeline as Spark operators, one file for each; chain.py applies them in
order.

May import: analysis, errors, fingerprint, ops, registry, root, spans, spec, table, values. Imported
by: audit, classify, dataflow, repair, runs, sink, state.
Never here: a path, a table or a run.
"""
