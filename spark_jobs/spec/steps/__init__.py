"""The steps of a pipeline as declarations, one file a step."""
