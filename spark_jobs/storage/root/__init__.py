"""Root: the paths under the root, its object store, and files that are written whole or not at
all.

Never here: Delta's and Spark's files, which storage and checkpoint know.
"""
