"""Shared: tables that Sluice keeps for itself, in Delta. Rows of several pipelines lie there, each
pipeline's in a part of its own, and several processes write them, without a JVM.
"""
