"""Excise: records of a topic taken out by a condition, in all pipelines that read it: which they
are, the note of them, and how a checkpoint takes it over.

May import: checkpoint, decode, errors, journal, launch, messages, ops, registry, repair, settings,
side, source, spec, steps, storage, table, values. Imported by: cli, main.
Never here: a computation of rows. A repair leaves the records out, as it does all that are bad.
"""
