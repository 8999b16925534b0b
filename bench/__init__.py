"""Sluice against the script that a competent user would write, measured in one run: `make bench`, or `python -m bench --help`."""
