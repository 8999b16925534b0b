"""Sluice against frozen rivals: `make bench`, or `python -m bench --help`."""
