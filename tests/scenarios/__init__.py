"""Scenarios: tests as data. Each folder is a pipeline whose cases hold a promise of the product,
through real drains: `SLUICE_PIPELINES=tests.scenarios sluice test NAME`.
"""
