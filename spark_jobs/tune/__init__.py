"""Tune: what each watermark delay would cost: the records that would be late, state, the wait for a
window; of the batches that were. tell.py has the way.

May import: draft, errors, ops, settings, source, spec, storage, values, where. Imported
by: cli.
Never here: a guess shown as a fact: what is not known has its bounds, an estimate says so.
"""
