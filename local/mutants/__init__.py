"""Mutants: one file changed at one place after the other, by cosmic-ray's operators, and the
changes that no test sees.

Three processes: `__main__` copies the tracked files; `make`, in cosmic-ray's own environment, says
the changes; `run`, in the copy, tries each in a fork that has the libraries already.
"""
