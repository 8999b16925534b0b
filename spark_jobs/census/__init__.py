"""Census: finds every place under a root that holds a record or its values, and says what removes
it.

May import: decode, errors, registry, spec, storage, table, values. Imported by: cli.
Never here: a change to a root; a value in what it tells.
"""
