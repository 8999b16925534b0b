"""Contracts: what a spec promises to its checkpoint, its table, its consumers and its topic's
producers; and which of that a change since a commit of git breaks.

May import: analysis, errors, fingerprint, pinned, registry, settings, spec. Imported by: cli.
Never here: which change stored state survives, which fingerprint knows.
"""
