"""Launch: how a run is submitted, its Spark session, its executors, and the processes around it."""
