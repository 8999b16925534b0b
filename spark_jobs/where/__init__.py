"""Where: the fate of a record by its place, asked of what is kept already: a place, what is known
of it (accounts, ops tables, rejected records), its outcome, and where it went. tell.py has the way.

May import: checkpoint, dataflow, decode, draft, errors, launch, messages, ops, registry, repair,
settings, side, source, spec, steps, storage, table, values. Imported by: cli, excise, since, tune.
Never here: state of its own, or a guess: "cannot be told" has its reason.
"""
