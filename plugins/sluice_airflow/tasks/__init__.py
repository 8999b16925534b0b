"""The tasks of the DAGs, and what they pass on."""
