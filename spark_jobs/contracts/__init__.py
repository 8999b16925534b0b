"""Contracts: what a spec promises to its checkpoint, its table, its consumers and its topic's
producers; and which of that a change since a commit of git breaks.

May import: errors, registry, settings, spec, values. Imported by: cli.
Never here: which change stored state survives, which fingerprint knows.
"""
