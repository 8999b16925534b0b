"""Judge: the rows and the state of a run, by its checks.

Never here: a check's own evaluation, which is in checks/.
"""
