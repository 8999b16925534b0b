"""Sluice against the script that a competent user would write: `make bench`, or `python -m bench
--help`.
"""
