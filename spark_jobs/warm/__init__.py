"""Warm: a worker on the machine that starts runs. It keeps a JVM and what Python has imported, and
takes one drain at a time over a local socket.

Of a client: client.py, start.py, fits.py. Of the worker: worker.py, turn.py, reception.py, job.py,
jvm.py, python_workers.py, limited.py, address.py, own_log.py, surroundings.py, tail.py, output.py,
recycling.py, python_daemon.py. Of both: place.py, message.py, link.py, fingerprint.py,
variables.py.
"""
