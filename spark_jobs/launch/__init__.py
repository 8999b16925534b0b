"""Launch: submits a run, makes its Spark session, watches its executors and the processes around
it.

May import: any room below. Imported by: any room above.
Never here: what a run does.
"""
