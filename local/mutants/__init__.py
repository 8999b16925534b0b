"""Mutants: one file changed at one place after the other, and the changes that no test sees.

Three processes: `__main__` copies the tracked files; `make`, in cosmic-ray's own environment, says
the changes (`java` those of a Java file, by its text); `run`, in the copy, tries each in a fork
that has the libraries already.
"""
