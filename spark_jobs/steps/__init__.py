"""Steps: the steps of a pipeline as Spark operators, one file for each; chain.py applies them in
order.

May import: any room below. Imported by: any room above.
Never here: a path, a table or a run.
"""
