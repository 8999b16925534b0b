"""Launch: submits a run, makes its Spark session, watches its executors and the processes around
it.
"""
