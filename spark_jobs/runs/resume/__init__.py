"""Resume: what is settled before a drain goes on with a checkpoint.

Never here: a batch.
"""
