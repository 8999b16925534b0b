"""Pipelines that show an operator each: read them as documentation.

SLUICE_PIPELINES=tests.pipelines makes them runnable.
"""
