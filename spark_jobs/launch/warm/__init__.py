"""Warm: workers on the machine that starts runs. Each keeps a JVM and what Python has imported, and
takes one run at a time over a local socket. Here is what its clients need; inside/ is the
worker's own.

Never here: what a drain does.
"""
