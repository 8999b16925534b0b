"""Seams: a toy at each port, brought from here by the public door, without a line of the product.

Each file is one: who adds a step or a source copies it.
"""
