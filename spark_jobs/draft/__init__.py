"""Draft: a spec from a sample of a topic, which runs unedited, and what it makes of the sample.

May import: decode, errors, registry, settings, source, spec, values. Imported by: cli, proof,
tune, where.
Never here: Spark, or a write under the root.
"""
