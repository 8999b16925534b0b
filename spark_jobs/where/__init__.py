"""Where: the fate of a record by its place, asked of what is kept already: accounts, kept records,
the table's log, events, repairs, and Kafka.

May import: checkpoint, dataflow, decode, draft, errors, launch, messages, ops, repair, settings,
source, spec, steps, storage, table, values. Imported by: cli, main.
Never here: state of its own, or a guess: "cannot be told" has its reason.
"""
