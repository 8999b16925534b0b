"""Ops: the Delta tables in which Sluice writes down what happened, and what is shown of them."""
