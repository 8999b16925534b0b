"""A shop: customers by change data capture, and orders with the customer as of the order's time.
SLUICE_PIPELINES=tests.examples.shop makes them runnable.
"""
