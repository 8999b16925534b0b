"""A shop: customers by change data capture, orders with their payment and customer, days of revenue.
SLUICE_PIPELINES=tests.examples.shop makes them runnable.
"""
