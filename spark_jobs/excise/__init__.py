"""Excise: records of a topic taken out by a condition, in all pipelines that read it: which they
are, the note of them, and how a checkpoint takes it over.

May import: checkpoint, errors, journal, launch, ops, registry, repair, runs, settings, source,
spec, storage, values, where. Imported by: cli.
Never here: a computation of rows. A repair leaves the records out, as it does all that are bad.
"""
