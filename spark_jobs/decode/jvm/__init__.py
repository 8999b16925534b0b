"""The JVM's decoder of JSON: what it is told, what it decodes, and what its tasks note.

spark_jobs/java's sluice.decode.Decoder takes and refuses what decode/json/ does, without a Python
worker. Python's decoder is the reference: it says why a record is malformed, and tests hold the
JVM's against it.
"""
