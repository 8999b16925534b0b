"""Source: the port by which records come, their identity, positions and places; Kafka and a
topic's archive are two of it, several topics a third.

May import: errors, messages, settings, spec, storage, table, values. Imported by: any room above.
Never here: what a record says.
"""
